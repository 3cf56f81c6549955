"""Accepting: stores messages of API calls in one statement. Once it commits, they will be sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from campaigns.runs.messages.day import run_of_today
from campaigns.runs.messages.message import id_of, known_by
from notifications.staff.api_key import STILL_VALID_SQL, ApiKey, Scope
from notifications.values import exact


@dataclass(frozen=True)
class Accepted:
    """The message that a call stands for."""

    id: str
    again: bool = False  # an earlier call with its key made it


class UnknownRecipient(Exception):
    """The person or the device is unknown; `field` is where the call named them."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class Revoked(Exception):
    """The key may not send messages any more. Nothing was stored."""


# A function in `accept_messages.sql`: each session keeps its plan, also behind PgBouncer. Planning
# it for each call cost more than running it. A changed function gets a new name, because the
# previous release calls this one.
ACCEPT = f"SELECT * FROM accept_messages(%(project)s, %(rows)s, EXISTS ({STILL_VALID_SQL}))"


# For messages that we send ourselves, without an API key.
OURS = "SELECT * FROM accept_messages(%(project)s, %(rows)s, TRUE)"


def accept(key: ApiKey, calls: list[dict[str, Any]]) -> list[Accepted | UnknownRecipient]:
    """Store messages, each by itself: an unknown person does not stop the others.

    Raises Revoked, even if the key was valid when the call came.

    If the process dies here: all of them are stored or none is, and the caller got no answer.
    """
    return _accept_all(key.project_id, key, calls)


def accept_new(key: ApiKey, calls: dict[int, dict[str, Any]]) -> dict[int, str]:
    """Store new messages in one statement; return the ids of those that were stored, by index.

    The others are not stored: call `accept` to learn why. Raises the same errors as `accept`.

    If the process dies here: all of them are stored or none is, and the caller got no answer.
    """
    run_id, numbers = _write_messages(key.project_id, key, calls)
    return {
        place: id_of(run_id or 0, number) for place, (number, is_new) in numbers.items() if is_new
    }


def accept_ours(project_id: int, calls: list[dict[str, Any]]) -> list[Accepted | UnknownRecipient]:
    """The same as `accept`, for our own messages, without an API key."""
    return _accept_all(project_id, None, calls)


def _accept_all(
    project_id: int, key: ApiKey | None, requests: list[dict[str, Any]]
) -> list[Accepted | UnknownRecipient]:
    answers: dict[int, Accepted | UnknownRecipient] = {}
    while open_requests := {
        place: request for place, request in enumerate(requests) if place not in answers
    }:
        answers |= _accept_once(project_id, key, open_requests)
    return [answers[place] for place in range(len(requests))]


def confirm(key: ApiKey) -> None:
    """Raises Revoked if the key may not send messages any more."""
    with connection.cursor() as cursor:
        cursor.execute(STILL_VALID_SQL, {"key": key.pk, "scope": Scope.MESSAGES.value})
        if cursor.fetchone() is None:
            raise Revoked


def _accept_once(
    project_id: int, key: ApiKey | None, requests: dict[int, dict[str, Any]]
) -> dict[int, Accepted | UnknownRecipient]:
    """One pass of `accept`: the answers by index.

    It leaves out messages whose deduplication key was taken and is free again: the caller tries
    them again.
    """
    run_id, numbers = _write_messages(project_id, key, requests)
    if run_id is None:
        run_of_today(project_id)
        return {}
    keys = {place: requests[place]["deduplicate"]["key"]
            for place, (_, is_new) in numbers.items() if not is_new}  # fmt: skip
    earlier = known_by(project_id, list(keys.values())) if keys else {}
    answers: dict[int, Accepted | UnknownRecipient] = {}
    for place, request in requests.items():
        if place not in numbers:
            answers[place] = UnknownRecipient(
                f"to.{'contact' if 'contact' in request['to'] else 'device'}"
            )
        elif place not in keys:
            answers[place] = Accepted(id_of(run_id, numbers[place][0]))
        elif keys[place] in earlier:
            answers[place] = Accepted(earlier[keys[place]], again=True)
    return answers


def _write_messages(
    project_id: int, key: ApiKey | None, requests: dict[int, dict[str, Any]]
) -> tuple[int | None, dict[int, tuple[int, bool]]]:
    """Write messages. Returns today's run, if there is one yet; and for each known recipient, by
    place, the message's number and whether it was written."""
    rows = exact.dumps([_row(place, request) for place, request in requests.items()]).decode()
    with connection.cursor() as cursor:
        params: dict[str, Any] = {"key": key.pk, "scope": Scope.MESSAGES.value} if key else {}
        params |= {"project": project_id, "rows": rows}
        cursor.execute(ACCEPT if key else OURS, params)
        result = cursor.fetchall()
    key_may_send, run_id = result[0][:2]
    if not key_may_send:
        raise Revoked
    known_rows = (row[2:] for row in result if row[2] is not None)
    return run_id, {place: (number, is_new) for place, number, is_new in known_rows}


def _row(place: int, request: dict[str, Any]) -> dict[str, Any]:
    to, deduplicate = request["to"], request.get("deduplicate", {})
    return {
        "place": place,
        "contact": to.get("contact"),
        "device": to.get("device"),
        "key": deduplicate.get("key"),
        "span": deduplicate.get("window_seconds"),
        **columns_of(request),
    }


def columns_of(one: dict[str, Any]) -> dict[str, Any]:
    """The columns that are the same for all people of a call."""
    category = one.get("category")
    return {
        "content": one["content"],
        "variables": one.get("variables", {}),
        "kind": category.kind if category else "",
        "category": category.slug if category else "",
        "on_unknown": one["on_unknown"],
        "ttl": one["ttl_seconds"],
        "collapse": one.get("collapse", ""),
        "inbox": one.get("into_inbox"),
        "at": one.get("at"),
    }
