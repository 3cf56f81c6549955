"""Serving images: a middleware that sends images to phones, browsers and a CDN, without log-in.

A name is never reused. The middleware runs before sessions, languages and projects: images do not
depend on them, and a hundred thousand phones may ask within a minute.
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
    # Web pushes with our images are shown by sites of another origin.
    "Cross-Origin-Resource-Policy": "cross-origin",
    # Whatever the bytes are, no code in them runs here.
    "Content-Security-Policy": "default-src 'none'; sandbox",
}
log = logging.getLogger(__name__)


class Images:
    """Middleware that answers requests for images, and passes on all others."""

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
        return _not_found()
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers={**FOR_EVER, "ETag": tag})
    images = storage()
    if not isinstance(images, FileSystemStorage) and not Image.objects.filter(name=name).exists():
        return _not_found()  # made-up names must not reach a bucket, which may be slow
    try:
        with images.open(name) as file:
            content = file.read()
    except FileNotFoundError:
        return _not_found()
    except Exception:  # each storage has its own errors when it is down
        log.exception("image=%s cannot be read", name)
        return HttpResponse(status=503, headers={"Retry-After": "5"})
    kind = KINDS[name.rpartition(".")[2]]
    return HttpResponse(content, content_type=kind, headers={**FOR_EVER, "ETag": tag})


def _not_found() -> HttpResponse:
    text = "There is no such image.\n"
    return HttpResponse(text, status=404, content_type="text/plain; charset=utf-8")
