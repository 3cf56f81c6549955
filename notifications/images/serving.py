"""Images as phones, browsers and a CDN fetch them: by anybody, with a name that is never reused.

Ahead of sessions, languages and projects: none of them says anything of these bytes, and a hundred
thousand phones ask within a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.core.files.storage import FileSystemStorage
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from notifications.images.address import NAME, PATH
from notifications.images.image import KINDS, Image, storage

FOR_EVER = {
    "Cache-Control": "public, max-age=31536000, immutable",
    # A web push is shown by a page of somebody else's.
    "Cross-Origin-Resource-Policy": "cross-origin",
    # Whatever the bytes are, nothing in them runs here.
    "Content-Security-Policy": "default-src 'none'; sandbox",
}
log = logging.getLogger(__name__)


class Images:
    """Middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(PATH):
            return self.get_response(request)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        return served(request, request.path_info.removeprefix(PATH))


def served(request: HttpRequest, name: str) -> HttpResponse:
    tag = f'"{name}"'
    if not NAME.fullmatch(name):
        return _nothing()
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={**FOR_EVER, "ETag": tag})
    kept = storage()
    if not isinstance(kept, FileSystemStorage) and not Image.objects.filter(name=name).exists():
        return _nothing()  # whoever makes up names is no work for a bucket that is far away
    try:
        with kept.open(name) as file:
            content = file.read()
    except FileNotFoundError:
        return _nothing()
    except Exception:  # each storage has its own way to be away
        log.exception("image=%s cannot be read", name)
        return HttpResponse(status=503, headers={"Retry-After": "5"})
    kind = KINDS[name.rpartition(".")[2]]
    return HttpResponse(content, content_type=kind, headers={**FOR_EVER, "ETag": tag})


def _nothing() -> HttpResponse:
    text = "There is no such image.\n"
    return HttpResponse(text, status=404, content_type="text/plain; charset=utf-8")
