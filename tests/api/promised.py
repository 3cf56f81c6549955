"""What the schema promises, held against every answer that a test of the API gets."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import jsonschema
from django.urls import Resolver404, resolve
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import patched_settings

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response

Operation = dict[str, Any]
HEADERS = {"ETag", "Location"}


@cache
def schema() -> dict[str, Any]:
    """As OpenAPI 3.1, whose schemas are JSON Schema: 3.0 has a `nullable` of its own."""
    with patched_settings({"OAS_VERSION": "3.1.0"}):
        found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found


def operation(method: str, path: str) -> Operation | None:
    """None for what is no address or no method of the API."""
    try:
        route = resolve(path).route
    except Resolver404:
        return None
    address = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route).replace("{pk}", "{id}")
    found: Operation | None = schema()["paths"].get(address, {}).get(method.lower())
    return found


def check(method: str, path: str, response: Response) -> None:
    """Raises AssertionError when the answer is none of those promised."""
    asked = operation("GET" if method == "HEAD" else method, path)
    if asked is None or response.status_code == 500:  # which a test has planted
        return
    promised = asked["responses"].get(str(response.status_code))
    assert promised, f"the schema knows no {response.status_code} of {method} {path}"
    carried = {name for name in HEADERS if name in response}
    assert carried == HEADERS & set(promised.get("headers", {})), f"other headers: {method} {path}"
    if method != "HEAD":
        _check_body(promised, response)


def _check_body(promised: dict[str, Any], response: Response) -> None:
    kind = response.get("Content-Type", "").partition(";")[0]
    if not response.streaming and not response.content:
        assert "content" not in promised
        return
    body = promised["content"][kind]["schema"]
    if kind.endswith("json") and not response.streaming:  # which can be read once only
        whole = {"components": schema()["components"], **body}
        jsonschema.Draft202012Validator(whole).validate(response.json())
