"""The query parameters of an endpoint, declared once for the schema and the check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.serializers import ValidationError

MOST_NAMED = 20

Method = TypeVar("Method", bound=Callable[..., Any])


def takes(*parameters: OpenApiParameter) -> Callable[[Method], Method]:
    """The parameters of a method; without this, it takes none."""

    def with_them(method: Method) -> Method:
        method.taken = [parameter.name for parameter in parameters]  # type: ignore[attr-defined]
        return extend_schema(parameters=list(parameters))(method)

    return with_them


def refuse_unknown(request: Request, method: Callable[..., Any]) -> None:
    """A misspelt filter would otherwise be ignored silently."""
    taken: list[str] = getattr(method, "taken", [])
    known = ", ".join(taken) or "none"
    problems = {
        name[:80]: "Give it once." if name in taken else f"Unknown parameter. Known: {known}."
        for name, values in request.query_params.lists()
        if name not in taken or len(values) > 1
    }
    if problems:
        raise ValidationError(dict(list(problems.items())[:MOST_NAMED]))
