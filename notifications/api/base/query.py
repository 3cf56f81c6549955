"""The query parameters of an endpoint, declared once for the schema and the check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.serializers import ValidationError

MOST_NAMED = 20
LONGEST = 200  # characters of what is looked for
NO_NUL = r"^[^\x00]+$"
NO_CONTROL = r"^[^\x00-\x1f\x7f-\x9f]+$"
LANGUAGE = r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*"

Method = TypeVar("Method", bound=Callable[..., Any])


def text(
    name: str, description: str, pattern: str = NO_NUL, *, longest: int = LONGEST, **more: Any
) -> OpenApiParameter:
    """A parameter that is a text, with what is refused otherwise: a generated client checks it."""
    return OpenApiParameter(name, shape(pattern, longest), description=description, **more)


def shape(pattern: str = NO_NUL, longest: int = LONGEST) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": longest, "pattern": pattern}


def number(name: str, description: str, *, most: int = 2**63 - 1) -> OpenApiParameter:
    """From 1 on."""
    schema = {"type": "integer", "minimum": 1, "maximum": most}
    return OpenApiParameter(name, schema, description=description)


def contact(description: str = "External id.", **more: Any) -> OpenApiParameter:
    return text("contact", description, NO_CONTROL, **more)


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
