"""OpenAPI schema: adds what drf-spectacular cannot see: errors, ETags, locations and API keys."""

from __future__ import annotations

import inspect
import re
from http import HTTPStatus
from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from notifications.api.base import query
from notifications.api.base.authentication import ApiKeyAuthentication
from notifications.api.base.fields import StrictSerializer
from notifications.api.base.problems import CONTENT_TYPE, ProblemSerializer
from notifications.staff.api_key import Scope

WITH_A_BODY = {"POST", "PUT", "PATCH"}
CHANGES_ONE = {"PUT", "PATCH", "DELETE"}
REFUSALS = {
    HTTPStatus.BAD_REQUEST: "Some values are not valid; `errors` names them.",
    HTTPStatus.UNAUTHORIZED: "The API key is missing, unknown, expired or revoked.",
    HTTPStatus.FORBIDDEN: "The API key lacks the scope.",
    HTTPStatus.NOT_FOUND: "There is no such thing in this project.",
    HTTPStatus.REQUEST_TIMEOUT: "The body did not arrive completely in time. Nothing was changed.",
    HTTPStatus.CONFLICT: "It conflicts with something that exists; `type` says with what.",
    HTTPStatus.LENGTH_REQUIRED: "The body came without a Content-Length.",
    HTTPStatus.PRECONDITION_FAILED: "Its ETag is not the one If-Match or If-None-Match asks for.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large; send it in parts.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not application/json.",
    HTTPStatus.MISDIRECTED_REQUEST: "Another process answers this; `detail` says which.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "It cannot be done at the moment; `type` says why.",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many calls with this key or address. Nothing was done.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Busy, or the database is restarting. Nothing was changed.",
}
ALWAYS = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
}
OF_A_BODY = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.LENGTH_REQUIRED,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
OF_A_KEY = {HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}


SENTENCE = re.compile(r"(?<=[a-z`)\]])[.:;] ")
TAG = r'(W/)?"[!#-+\x2d-~]*"'
TAGS = rf"^(\*|{TAG}(, ?{TAG})*)$"


def _header_parameter(name: str, description: str) -> OpenApiParameter:
    return query.text(name, description, TAGS, longest=1_000, location=OpenApiParameter.HEADER)


def _out(name: str, description: str, *codes: int) -> OpenApiParameter:
    """Declare a response header, for these status codes or for all."""
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, description=description, response=list(codes) or True
    )


IF_MATCH = _header_parameter(
    "If-Match", "The ETag you saw: if the resource has changed since, the answer is 412."
)
IF_NONE_MATCH = _header_parameter(
    "If-None-Match", "The ETag you have: if nothing has changed, the answer is 304."
)
IF_NEW = _header_parameter("If-None-Match", "`*`: only if it does not exist yet.")
ETAG = "The version of the resource, for If-Match and If-None-Match."
LOCATION = "The address of what was created."
RATES = [
    _out(
        "RateLimit-Policy",
        'How many calls are allowed in how many seconds: `"key";q=2000;w=2`.',
    ),
    _out(
        "RateLimit",
        'How many calls are left, and in how many seconds all are again: `"key";r=1998;t=1`.',
    ),
    _out("Retry-After", "Try again after this many seconds.", 429, 503),
]


class Schema(AutoSchema):
    """The schema of an operation, with everything that ApiView does for each request."""

    view: Any  # an ApiView

    def get_description(self) -> str:  # type: ignore[override]  # as drf-spectacular asks for it
        """The method's own description. Docstrings of classes are for people who read the code."""
        name = self.method.lower()
        return self.view.words.get(name) or inspect.getdoc(getattr(self.view, name)) or ""

    def get_summary(self) -> str:
        """The first sentence of the description."""
        text = " ".join(self.get_description().split())
        return SENTENCE.split(text, maxsplit=1)[0].rstrip(".")

    def get_operation(self, *asked: Any) -> Any:
        """Mark operations that need no key, and give those of the feed their own address."""
        operation = super().get_operation(*asked)
        if operation:
            operation.setdefault("security", [])
            if HTTPStatus.MISDIRECTED_REQUEST in self._refusals():
                operation["servers"] = settings.FEED_SERVERS
        return operation

    def get_override_parameters(self) -> list[Any]:
        return [*super().get_override_parameters(), *self._conditions(), *self._headers()]

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Any:
        """Responses contain all fields, except those that the serializer lists in `may_lack`."""
        schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        strict = isinstance(serializer, StrictSerializer) and schema.get("properties")
        if direction == "request" and strict:
            schema["additionalProperties"] = False
        if direction == "response":
            whole = set(schema["properties"]) - getattr(serializer, "may_lack", set())
            schema.pop("required", None)
            schema |= {"required": sorted(whole)} if whole else {}
        return schema

    def _conditions(self) -> list[OpenApiParameter]:
        if not self.view.tagged:
            return []
        if self.method == "GET":
            return [IF_NONE_MATCH]
        return [IF_MATCH, IF_NEW] if self._may_make() else [IF_MATCH]

    def _headers(self) -> list[OpenApiParameter]:
        location = [_out("Location", LOCATION, 201, 202)] if self.view.place else []
        codes = (200, 201, 304) if self.view.tagged else (201,)
        return [*location, _out("ETag", ETAG, *codes), *RATES]

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        if self.view.tagged and self.method == "GET":
            bodies["304"] = self._response(304, None, "It is what If-None-Match names.")
        for status in sorted(self._refusals()):
            words = self.view.refusals.get(status, REFUSALS[status])
            bodies[str(status.value)] = self._response(status, ProblemSerializer, words)
        return bodies

    def _response(self, status: int, body: Any, words: str) -> Any:
        answer = OpenApiResponse(body, words)
        return self._get_response_for_code(answer, str(int(status)), [CONTENT_TYPE])  # type: ignore[no-untyped-call]

    def _refusals(self) -> set[HTTPStatus]:
        method = getattr(self.view, self.method.lower())
        statuses: set[HTTPStatus] = ALWAYS | getattr(method, "refused", set())
        if "{" in self.path and not self._may_make():
            statuses |= {HTTPStatus.NOT_FOUND}
        if self.method in WITH_A_BODY or self._says_whom:
            statuses |= OF_A_BODY
        if self.view.tagged and self.method in CHANGES_ONE:
            statuses |= {HTTPStatus.PRECONDITION_FAILED}
        if "Idempotency-Key" in (given.name for given in self.get_override_parameters()):
            statuses |= OF_A_KEY
        never: set[HTTPStatus] = self.view.never_refused
        return statuses - never

    def _get_request_body(self, direction: Any = "request") -> Any:
        method, self.method = self.method, "POST" if self._says_whom else self.method
        body = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        self.method = method
        return {**body, "required": True} if body and self.method == "PUT" else body

    @property
    def _says_whom(self) -> bool:
        """Whether this is a DELETE with a body, which drf-spectacular does not support."""
        return self.method == "DELETE" and bool(self.view.deletes_named)

    def _may_make(self) -> bool:
        """Whether this is a PUT that may create something."""
        return self.method == "PUT" and HTTPStatus.CREATED in self._successes()

    def _successes(self) -> set[int]:
        responses = self.get_response_serializers()
        return {int(code) for code in responses} if isinstance(responses, dict) else set()


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema tells readers to authenticate."""

    target_class = ApiKeyAuthentication
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        lines = "\n".join(f"- `{scope}`: {scope.label}" for scope in Scope)
        text = f"An API key, made on the page API keys or by `manage.py create_api_key`:\n\n{lines}"
        return {"type": "http", "scheme": "bearer", "description": text}
