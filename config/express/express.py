"""The fast path: answers valid calls of POST messages together.

For one message, Django and REST framework cost more than all the work that it needs. Here one
thread reads the waiting calls, stores those of each key in one statement, and answers. An unusual
call (a wrong field, an unknown person, a key over its limit) goes to the ordinary view, which has
the error texts. So only one place refuses, and both accept the same.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import DatabaseError, close_old_connections

from campaigns import tasks
from campaigns.runs.messages.accepting import Revoked, accept_new
from config.express import call as calls
from config.express import reply
from config.express.call import Call
from config.front.dispatch.batched_route import FastPath, WholeAnswer
from config.front.refusals import Away, Refused
from notifications.api.base import authentication
from notifications.postgres.outage import DATABASE_TROUBLE, is_collision
from notifications.requests import request_id
from notifications.staff.api_key import ApiKey
from notifications.tracing import tracing

log = logging.getLogger(__name__)


def answer(environs: list[dict[str, Any]]) -> list[WholeAnswer | Refused | None]:
    """Answer the calls, in their order.

    None: nothing was done for the call, and the ordinary view must answer it.
    """
    close_old_connections()
    try:
        answers: dict[int, WholeAnswer | Refused] = {}
        with _open_spans(environs, answers):
            for key, ours in _parse_by_key(environs).items():
                answers |= _store_calls(key, ours)
        return [answers.get(place) for place in range(len(environs))]
    finally:
        close_old_connections()


@contextmanager
def _open_spans(
    environs: list[dict[str, Any]], answers: Mapping[int, WholeAnswer | Refused]
) -> Iterator[None]:
    """One span for all calls, and one within each caller's trace, with links to each other.

    A call that is not answered here gets its span from the ordinary view.
    """
    begun = [_begin_span(environ) for environ in environs] if tracing.is_on() else []
    with tracing.span("express", calls=len(environs)) as together:
        yield
        for place, span in enumerate(begun):
            if response := answers.get(place):
                span.tell(**{"http.response.status_code": int(response.status)})
                span.link(together.place)
                together.link(span.place)
                span.end()


def _begin_span(environ: dict[str, Any]) -> tracing.Span:
    route = calls.ADDRESS.removeprefix("/")
    environ[request_id.IN_META] = name = request_id.name_of(environ)
    attributes = {"http.request.method": "POST", "http.route": route, "request_id": name}
    carried = {tracing.PARENT: environ.get("HTTP_TRACEPARENT", "")}
    return tracing.span(f"POST {route}", "server", carried=carried, **attributes)


def _parse_by_key(environs: list[dict[str, Any]]) -> dict[ApiKey, dict[int, Call]]:
    calls_by_key: dict[ApiKey, dict[int, Call]] = defaultdict(dict)
    begun = {}
    for place, environ in enumerate(environs):
        with _leave_to_ordinary_view():
            begun[place] = calls.begin(environ)
    for place, taken in calls.count(begun).items():
        with _leave_to_ordinary_view():
            call = calls.parse_call(begun[place], taken)
            calls_by_key[call.key][place] = call
    return calls_by_key


@contextmanager
def _leave_to_ordinary_view() -> Iterator[None]:
    """Drop any error: the ordinary view raises it again, and reports it."""
    try:
        yield
    except Exception as error:
        log.debug("not by express: %r", error)


def _store_calls(key: ApiKey, ours: dict[int, Call]) -> dict[int, WholeAnswer | Refused]:
    """Store the calls of one key.

    If the process dies here: all of them are stored or none is, and no caller has an answer.
    """
    try:
        ids = accept_new(key, {place: call.fields for place, call in ours.items()})
    except Revoked:
        authentication.forget(key)
        return {}
    except DATABASE_TROUBLE as error:
        if is_collision(error):
            return {}
        # They may be stored although the answer was lost: the caller decides whether to call again.
        log.warning("messages met a busy or restarting database: %s", error)
        return dict.fromkeys(ours, Away())
    except DatabaseError:  # PostgreSQL refuses one of them: each goes by itself
        return {}
    _ring(ours[place].fields.get("at") for place in ids)
    return {place: reply.accepted(ours[place], name) for place, name in ids.items()}


def _ring(times: Iterable[datetime | None]) -> None:
    for moment in set(times):
        tasks.send_messages_on_commit(moment)


WAY = FastPath(calls.may_be_one, answer)
