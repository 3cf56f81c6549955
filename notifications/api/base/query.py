"""Query parameters: each method declares them once, for the schema and for the check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.serializers import ValidationError

MAX_NAMED = 20
LONGEST = 200  # characters of a search text
NO_NUL = r"^[^\x00]+$"
NO_CONTROL = r"^[^\x00-\x1f\x7f-\x9f]+$"
LANGUAGE = r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*"

Method = TypeVar("Method", bound=Callable[..., Any])


def text(
    name: str, description: str, pattern: str = NO_NUL, *, longest: int = LONGEST, **more: Any
) -> OpenApiParameter:
    """Declare a text parameter. Its pattern and length are in the schema, so that generated clients
    check them."""
    return OpenApiParameter(name, shape(pattern, longest), description=description, **more)


def shape(pattern: str = NO_NUL, longest: int = LONGEST) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": longest, "pattern": pattern}


def number(name: str, description: str, *, most: int = 2**63 - 1) -> OpenApiParameter:
    """Declare a whole number from 1 on."""
    schema = {"type": "integer", "minimum": 1, "maximum": most}
    return OpenApiParameter(name, schema, description=description)


def contact(description: str = "External id.", **more: Any) -> OpenApiParameter:
    return text("contact", description, NO_CONTROL, **more)


def takes(*parameters: OpenApiParameter) -> Callable[[Method], Method]:
    """Declare the query parameters of a method. Without this decorator it takes none."""

    def with_them(method: Method) -> Method:
        method.taken = [parameter.name for parameter in parameters]  # type: ignore[attr-defined]
        return extend_schema(parameters=list(parameters))(method)

    return with_them


def refuse_unknown(request: Request, method: Callable[..., Any]) -> None:
    """Refuse unknown parameters. Otherwise a misspelt filter would be silently ignored."""
    params: list[str] = getattr(method, "taken", [])
    known = ", ".join(params) or "none"
    problems = {
        name[:80]: "Give it once." if name in params else f"Unknown parameter. Known: {known}."
        for name, values in request.query_params.lists()
        if name not in params or len(values) > 1
    }
    if problems:
        raise ValidationError(dict(list(problems.items())[:MAX_NAMED]))
