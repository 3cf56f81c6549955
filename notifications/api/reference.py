"""The schema of the API, `/api/schema/`: the same for everybody, so a process makes it once.

Making it takes longer than most answers do, and anybody may ask, without a key.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

from notifications.api.base.rendering import AlwaysTheReference

# `cache` alone lets all who come first make one each, and the generator bears no second thread.
ONE_AT_A_TIME = Lock()


class Reference(SpectacularAPIView):
    """In each form that its parent offers; in English, as all that programs read."""

    content_negotiation_class = AlwaysTheReference

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase | None:
        """Nothing else that is asked for matters: a stranger could have it made anew."""
        form: Any = type(request.accepted_renderer)
        with ONE_AT_A_TIME:
            text, tag = _rendered(form)
        answer = HttpResponse(text, content_type=_kind(form))
        answer["Content-Disposition"] = f'inline; filename="Carillon.{form.format}"'
        answer["ETag"] = tag
        return get_conditional_response(request, etag=tag, response=answer)


def _kind(form: Any) -> str:
    return f"{form.media_type}; charset={form.charset}" if form.charset else form.media_type


@cache
def _rendered(form: Any) -> tuple[bytes, str]:
    text: bytes = form().render(_schema(), form.media_type, {})
    return text, f'"{sha256(text).hexdigest()[:32]}"'


@cache
def _schema() -> dict[str, Any]:
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made


def forget() -> None:
    _rendered.cache_clear()
    _schema.cache_clear()
