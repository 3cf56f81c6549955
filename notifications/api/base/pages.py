"""Keyset pagination: the cursor names the last row seen, so later pages are not slower.

A cursor is signed together with its list. A made-up one, or one from another list, is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.core.signing import BadSignature, Signer
from django.db.models import Model, QuerySet
from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base import query

PER_PAGE = 50
MAX_PER_PAGE = 500

PARAMETERS = [
    query.text("cursor", "Taken from `next` of the page before.", r"^[0-9]+:[A-Za-z0-9_-]{43}$"),
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_PER_PAGE, "default": PER_PAGE},
        description="Rows per page.",
    ),
]

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")


def page_by_id(
    request: Request, rows: QuerySet[Row], as_item: Callable[[Row], dict[str, Any]]
) -> Response:
    """Return a page of rows, newest first."""
    after, limit = where(request)
    ordered = rows.order_by("-pk")
    if after is not None:
        ordered = ordered.filter(pk__lt=after)
    fetched = list(ordered[: limit + 1])
    items = [as_item(row) for row in fetched[:limit]]
    return page(request, items, last=fetched[limit - 1].pk if len(fetched) > limit else None)


def where(request: Request) -> tuple[int | None, int]:
    """Return the key of the last row that the caller has seen, if any, and the number of rows."""
    return _cursor(request), _limit(request)


def page(request: Request, items: list[dict[str, Any]], *, last: int | None) -> Response:
    """Build a page. `last` is the key of the last item if more items follow."""
    return Response({"results": items, "next": address_of_next(request, last)})


def address_of_next(request: Request, last: int | None, *, path: str = "") -> str | None:
    """Return the address of the page after the item with this key. `path`: the list's path, if it
    is another one."""
    if last is None:
        return None
    path = path or request.path
    query = {**request.query_params.dict(), "cursor": _signer(path).sign(str(last))}
    return request.build_absolute_uri(f"{path}?{urlencode(query)}")


def schema_of(item: type[serializers.BaseSerializer[Any]]) -> Any:
    return inline_serializer(
        f"{item.__name__.removesuffix('Serializer')}Page",
        {"results": item(many=True), "next": serializers.URLField(allow_null=True)},
    )


def _cursor(request: Request) -> int | None:
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return None
    try:
        return int(_signer(request.path).unsign(cursor))
    except BadSignature as error:
        raise serializers.ValidationError(
            {"cursor": "This cursor does not belong to this list. Use `next` unchanged."}
        ) from error


def _limit(request: Request) -> int:
    limit = request.query_params.get("limit", str(PER_PAGE))
    if not (limit.isascii() and limit.isdecimal() and len(limit) < 5):
        limit = "0"
    if not 1 <= int(limit) <= MAX_PER_PAGE:
        raise serializers.ValidationError({"limit": f"Use a number from 1 to {MAX_PER_PAGE}."})
    return int(limit)


def _signer(path: str) -> Signer:
    return Signer(salt=f"cursor of {path}")
