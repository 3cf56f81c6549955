"""Together: calls of one key that reach a process at the same moment are kept in one commit.

One thread at a time writes for all who wait; the next of them writes for those who came meanwhile.
A call that comes alone waits for nobody.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from campaigns.runs.messages.accepting import Accepted, Nobody, accept
from notifications.staff.access import ApiKey

Answers = list[Accepted | Nobody]


@dataclass(eq=False)
class Call:
    asked: list[dict[str, Any]]
    answers: Answers | None = None
    failed: bool = False  # together with others
    # Set when it has its answers, or failed, or is the one to write.
    turn: threading.Event = field(default_factory=threading.Event)


_lock = threading.Lock()
_waiting: dict[int, list[Call]] = {}  # by key; a key is there while somebody writes for it


def accept_together(key: ApiKey, asked: list[dict[str, Any]]) -> Answers:
    """As `accept`. Inside a transaction alone: what is not committed may not be told to others."""
    if connection.in_atomic_block:
        return accept(key, asked)
    call = Call(asked)
    with _lock:
        writes = key.pk not in _waiting
        _waiting.setdefault(key.pk, []).append(call)
    if not writes:
        call.turn.wait()
    if call.answers is None and not call.failed:
        _write(key, call)
    return call.answers if call.answers is not None else accept(key, asked)


def _write(key: ApiKey, ours: Call) -> None:
    """For all who wait. What fails for all may be one's fault: then each tries by itself."""
    with _lock:
        calls, _waiting[key.pk] = _waiting[key.pk], []
    try:
        answers = iter(accept(key, [one for call in calls for one in call.asked]))
        for call in calls:
            call.answers = [next(answers) for _ in call.asked]
    except Exception:
        for call in calls:
            call.failed = True
        if len(calls) == 1:
            raise
    finally:
        _pass_on(key, [call for call in calls if call is not ours])


def _pass_on(key: ApiKey, done: list[Call]) -> None:
    with _lock:
        if _waiting[key.pk]:
            _waiting[key.pk][0].turn.set()
        else:
            del _waiting[key.pk]
    for call in done:
        call.turn.set()
