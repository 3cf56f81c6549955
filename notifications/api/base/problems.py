"""Problems: every error as RFC 9457 `application/problem+json`, with invalid fields and the fix."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from django.conf import settings
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
)
from django.core.exceptions import ValidationError as Invalid
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions, serializers
from rest_framework.response import Response

from notifications.api.base.rendering import OrjsonRenderer, as_json
from notifications.postgres.outage import DATABASE_TROUBLE

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
NO_OBJECT = "Must be an object."
NO_BODY = "The body must be an object, such as {}."
INVALID = "Some values are not valid; see errors."
# Our texts for codes of validators whose own texts are made for Django's forms.
SAID_OF_CODES = {"null_characters_not_allowed": "Holds a NUL character; remove it."}
# The names that DRF and Django use for errors that belong to no single field.
OF_THE_WHOLE = ("non_field_errors", "__all__", "")


class ProblemErrorSerializer(serializers.Serializer[Any]):
    """One invalid value."""

    field = serializers.CharField(
        help_text="Where it is, e.g. contacts[3].devices[0].token; empty: the body as a whole."
    )
    message = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """Why the request was refused (RFC 9457)."""

    may_lack = frozenset({"verbs", "run", "run_url", "reason"})

    type = serializers.CharField(
        help_text="urn:carillon:…, which names the kind of problem, or about:blank."
    )
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    errors = ProblemErrorSerializer(many=True)  # type: ignore[assignment]  # the metaclass takes it
    verbs = serializers.ListField(
        child=serializers.CharField(),
        help_text="With invalid-move: what can be done with the run now.",
    )
    run = serializers.IntegerField(help_text="With already-launched: the id of its run.")
    run_url = serializers.URLField(help_text="With already-launched: the address of that run.")
    reason = serializers.CharField(help_text="In a preview: why this person would get nothing.")


class Problem(exceptions.APIException):
    """An error of our own, with a `kind` for scripts to distinguish and members that help them.

    `retry_after`: after so many seconds the same request may succeed.
    """

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        kind: str = "",
        errors: Mapping[str, Any] | None = None,
        retry_after: int = 0,
        **members: Any,
    ) -> None:
        super().__init__(detail)
        self.status_code = status.value
        self.kind, self.errors, self.members = kind, errors or {}, members
        self.retry_after = retry_after


Method = TypeVar("Method", bound=Callable[..., Any])


def refuses(*statuses: HTTPStatus) -> Callable[[Method], Method]:
    """Declare, for the schema, which errors a method may return besides the usual ones."""

    def with_them(method: Method) -> Method:
        method.refused = set(statuses)  # type: ignore[attr-defined]
        return method

    return with_them


def answer(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: turns every exception into a problem."""
    context["request"].accepted_renderer = OrjsonRenderer()  # even if YAML or a page was requested
    problem = _as_api_exception(error)
    body, headers = problem_of(problem), _headers_of(problem)
    return Response(body, status=problem.status_code, headers=headers, content_type=CONTENT_TYPE)


def _headers_of(problem: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(problem, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if seconds := getattr(problem, "retry_after", 0):
        headers["Retry-After"] = str(seconds)
    return headers


def _as_api_exception(error: Exception) -> exceptions.APIException:
    if isinstance(error, exceptions.UnsupportedMediaType):
        return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json.")
    if isinstance(error, exceptions.MethodNotAllowed):
        text = "There is no such method at this address; `Allow` names those there are."
        return Problem(HTTPStatus.METHOD_NOT_ALLOWED, text)
    if isinstance(error, exceptions.APIException):
        return error
    if isinstance(error, Http404):
        return exceptions.NotFound()
    if isinstance(error, PermissionDenied):
        return exceptions.PermissionDenied()
    if isinstance(error, TooManyFieldsSent):
        most = f"At most {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} parameters."
        return Problem(HTTPStatus.BAD_REQUEST, most)
    if isinstance(error, SuspiciousOperation):
        return not_taken(error)
    if isinstance(error, Invalid):
        return Problem(HTTPStatus.BAD_REQUEST, INVALID, errors=_messages_of(error))
    if isinstance(error, DATABASE_TROUBLE):
        log.warning("a request met a busy or restarting database: %s", error)
        return away()
    log.exception("a request failed", exc_info=error)
    return ours()


def _messages_of(error: Invalid) -> dict[str, list[str]]:
    return error.message_dict if hasattr(error, "error_dict") else {"": error.messages}


def problem_of(error: exceptions.APIException) -> dict[str, Any]:
    own = error if isinstance(error, Problem) else None
    invalid = isinstance(error, exceptions.ValidationError)
    details = error.detail if invalid else (own.errors if own else {})
    return {
        "type": f"urn:carillon:{own.kind}" if own and own.kind else "about:blank",
        "title": HTTPStatus(error.status_code).phrase,
        "status": error.status_code,
        "detail": INVALID if invalid else str(error.detail),
        "errors": [_of_the_body(problem) for problem in flattened(details)],
        **(own.members if own else {}),
    }


def _of_the_body(error: dict[str, str]) -> dict[str, str]:
    """Say “The body …” if an error without a field asks for an object."""
    alone = error["field"] == "" and error["message"] == NO_OBJECT
    return {**error, "message": NO_BODY} if alone else error


def flattened(detail: Any, path: str = "") -> Iterator[dict[str, str]]:
    """Flatten DRF's nested messages; each gets its field: `contacts[3].devices[0].token`."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from flattened(inner, _place(path, name))
    elif isinstance(detail, list | tuple):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from flattened(inner, _place(path, index) if nested else path)
    else:
        words = SAID_OF_CODES.get(getattr(detail, "code", ""))
        yield {"field": path, "message": words or str(detail)}


def _place(path: str, name: str | int) -> str:
    if isinstance(name, int):
        return f"{path}[{name}]"
    return path if name in OF_THE_WHOLE else f"{path}.{name}".lstrip(".")


@csrf_exempt  # otherwise a POST would get an error about cookies first
def no_such_address(request: HttpRequest) -> HttpResponse:
    """Return the API's own 404: a script that mistypes an address must not get an HTML page."""
    return outside(Problem(HTTPStatus.NOT_FOUND, "There is no such address. See /api/docs/."))


def outside(problem: exceptions.APIException) -> HttpResponse:
    """Return a problem as a response, where no endpoint and so no exception handler is reached."""
    body = as_json(problem_of(problem))
    return HttpResponse(
        body, status=problem.status_code, headers=_headers_of(problem), content_type=CONTENT_TYPE
    )


def away() -> Problem:
    again = "Nothing was changed. Try again shortly."
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, again, retry_after=2)


def not_taken(error: Exception) -> Problem:
    """Return the problem for a request that Django itself refuses. Django's texts name our
    settings, and may name our files."""
    if isinstance(error, RequestDataTooBig):
        most = f"At most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes in a body."
        return Problem(HTTPStatus.BAD_REQUEST, most)
    return Problem(HTTPStatus.BAD_REQUEST, "This host name or request is not accepted here.")


def ours() -> Problem:
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Something failed on our side; it is logged.")
