"""ETags: name the version that a client read, so that it cannot overwrite a newer one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.utils.http import parse_etags
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ValidationError

from notifications.api.base.problems import Problem
from notifications.values import row_versions


def tag_of(shown: Any) -> str:
    """Return the strong ETag of what is shown."""
    return f'"{row_versions.mark(shown)}"'


def mark(request: Request, response: Response) -> None:
    """Add the ETag to an answer. If the caller already has this version, send only the ETag."""
    tag = tag_of(response.data)
    response["ETag"] = tag
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if request.method in ("GET", "HEAD") and _names(known, tag):
        response.status_code, response.data = HTTPStatus.NOT_MODIFIED.value, None


def refuse_stale(request: Request, shown: Any) -> None:
    """Check If-Match and If-None-Match. Call it under the row's lock: otherwise two changes could
    pass at once.

    `shown` is what a GET would show now: None if the row does not exist yet.
    """
    tag = None if shown is None else tag_of(shown)
    required, forbidden = _read_tags(request, "If-Match"), _read_tags(request, "If-None-Match")
    if required and not (
        tag and (required == ["*"] or tag in required)
    ):  # a weak ETag proves nothing here
        raise _stale_problem(
            "It has changed since you read it (If-Match). Read it again, then repeat your change."
        )
    if tag and _names(forbidden, tag):
        raise _stale_problem("It exists already, which If-None-Match excludes.")


def _names(tags: list[str], tag: str) -> bool:
    return tags == ["*"] or tag in [one.removeprefix("W/") for one in tags]


def _read_tags(request: Request, header: str) -> list[str]:
    value = request.headers.get(header)
    tags = parse_etags(value or "")
    if value is not None and not tags:
        raise ValidationError(
            {header: 'Give a tag exactly as ETag showed it, with its quotes, or "*".'}
        )
    return tags


def _stale_problem(detail: str) -> Problem:
    return Problem(HTTPStatus.PRECONDITION_FAILED, detail, kind="stale")
