"""What drf-spectacular cannot see by itself: refusals, tags, places and keys, as they truly are."""

from __future__ import annotations

import inspect
from http import HTTPStatus
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from notifications.api.ground.authentication import ApiKeyAuthentication
from notifications.api.ground.problems import CONTENT_TYPE, ProblemSerializer

WITH_A_BODY = {"POST", "PUT", "PATCH"}
CHANGES_ONE = {"PUT", "PATCH", "DELETE"}
REFUSALS = {
    HTTPStatus.BAD_REQUEST: "Some values do not fit; `errors` names them.",
    HTTPStatus.UNAUTHORIZED: "The API key is missing, unknown, expired or revoked.",
    HTTPStatus.FORBIDDEN: "The API key lacks the scope.",
    HTTPStatus.NOT_FOUND: "There is no such thing in this project.",
    HTTPStatus.REQUEST_TIMEOUT: "The body had not all arrived in time. Nothing was changed.",
    HTTPStatus.CONFLICT: "What is there stands in the way; `type` says what it is.",
    HTTPStatus.LENGTH_REQUIRED: "The body came without a Content-Length.",
    HTTPStatus.PRECONDITION_FAILED: "It is not what If-Match or If-None-Match expects.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too large; send it in parts.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not application/json.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "It cannot be done as things stand; `type` says why.",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many calls of this key or address. Nothing was done.",
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


def _in(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=description)


def _out(name: str, description: str, *codes: int) -> OpenApiParameter:
    """With every answer, unless only with some."""
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, description=description, response=list(codes) or True
    )


IF_MATCH = _in("If-Match", "The ETag that was seen: whatever changed since is left as it is.")
IF_NONE_MATCH = _in("If-None-Match", "The ETag that is known: the same is not sent again.")
IF_NEW = _in("If-None-Match", "`*`: only if there is none yet.")
ETAG = "A mark of what is shown, for If-Match and If-None-Match."
LOCATION = "Where it stands."
RATES = [
    _out(
        "RateLimit-Policy",
        'What may come at once, and within how many seconds: `"key";q=1000;w=2`.',
    ),
    _out("RateLimit", 'How many are left, and in how many seconds all of them: `"key";r=998;t=1`.'),
    _out("Retry-After", "In how many seconds to try again.", 429, 503),
]


class Schema(AutoSchema):
    """Says of each operation what its view does with every request."""

    view: Any  # an ApiView

    def get_description(self) -> str:  # type: ignore[override]  # as drf-spectacular asks for it
        """Its own words; those of a class are for who reads the code."""
        return inspect.getdoc(getattr(self.view, self.method.lower())) or ""

    def get_override_parameters(self) -> list[Any]:
        return [*super().get_override_parameters(), *self._conditions(), *self._headers()]

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Any:
        """What is shown is shown whole, but for what the serializer says it may lack."""
        schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
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
        made = [_out("Location", LOCATION, 201, 202)] if self.view.place else []
        codes = (200, 201, 304) if self.view.tagged else (201,)
        return [*made, _out("ETag", ETAG, *codes), *RATES]

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        if self.view.tagged and self.method == "GET":
            bodies["304"] = self._told(304, None, "It is what If-None-Match names.")
        for status in sorted(self._refusals()):
            bodies[str(status.value)] = self._told(status, ProblemSerializer, REFUSALS[status])
        return bodies

    def _told(self, status: int, body: Any, words: str) -> Any:
        answer = OpenApiResponse(body, words)
        return self._get_response_for_code(answer, str(int(status)), [CONTENT_TYPE])  # type: ignore[no-untyped-call]

    def _refusals(self) -> set[HTTPStatus]:
        method = getattr(self.view, self.method.lower())
        found = ALWAYS | getattr(method, "refused", set())
        if "{" in self.path and not self._may_make():
            found |= {HTTPStatus.NOT_FOUND}
        if self.method in WITH_A_BODY:
            found |= OF_A_BODY
        if self.view.tagged and self.method in CHANGES_ONE:
            found |= {HTTPStatus.PRECONDITION_FAILED}
        if "Idempotency-Key" in (given.name for given in self.get_override_parameters()):
            found |= OF_A_KEY
        return found

    def _get_request_body(self, direction: Any = "request") -> Any:
        body = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        return {**body, "required": True} if body and self.method == "PUT" else body

    def _may_make(self) -> bool:
        """A PUT that writes what was not there."""
        return self.method == "PUT" and HTTPStatus.CREATED in self._successes()

    def _successes(self) -> set[int]:
        told = self.get_response_serializers()
        return {int(code) for code in told} if isinstance(told, dict) else set()


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the schema tells readers to authenticate."""

    target_class = ApiKeyAuthentication
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "manage.py create_api_key"}
