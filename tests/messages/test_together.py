"""Calls that come at once are kept in one commit, and each has its own answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import DataError, connection, connections
from django.utils import timezone

from campaigns.runs.messages import together
from campaigns.runs.messages.accepting import accept
from campaigns.runs.messages.message import Message
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact
from tests.given.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = 12


class Held:
    """Accepting, held up until all have called: they come together then."""

    def __init__(self, told: Callable[[list[Any]], None] = lambda asked: None) -> None:
        self.go, self.sizes, self.told = threading.Event(), list[int](), told

    def __call__(self, key: Any, asked: list[dict[str, Any]]) -> Any:
        self.go.wait(20)
        self.sizes.append(len(asked))
        self.told(asked)
        return accept(key, asked)


@pytest.fixture
def call(transactional_db: None, project: Project) -> Caller:
    for number in range(CALLS):
        make_contact(project, external_id=f"p{number}")
    call = Caller(project)
    call.get("messages")  # what a test promises is read once, by one thread
    return call


def at_once(call: Caller, held: Held, bodies: list[Any]) -> list[Any]:
    def ask(body: Any) -> Any:
        try:
            return call.post("messages", body)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(bodies)) as callers:
        asked = [callers.submit(ask, body) for body in bodies]
        try:
            eventually("all wait", lambda: all_wait(len(bodies)))
        finally:
            held.go.set()
        return [one.result(30) for one in asked]


def all_wait(calls: int) -> bool:
    """All but the one that writes."""
    return sum(map(len, together._waiting.values())) == calls - 1


def body(number: int) -> dict[str, Any]:
    content = {"title": "Hello", "body": f"Number {number}"}
    return {"to": {"contact": f"p{number}"}, "content": content}


def test_calls_that_come_at_once_share_a_commit_and_each_has_its_own_message(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    monkeypatch.setattr(together, "accept", held)
    bodies = [*(body(number) for number in range(CALLS - 1)), body(999)]

    answers = at_once(call, held, bodies)

    assert [answer.status_code for answer in answers] == [202] * (CALLS - 1) + [400]
    assert held.sizes == [1, CALLS - 1]
    texts = {one.id: one.content["body"] for one in Message.objects.all() if one.content}
    told = {answer.json()["id"]: f"Number {n}" for n, answer in enumerate(answers[:-1])}
    assert told == texts
    assert not together._waiting


def test_what_one_call_breaks_does_not_break_the_others(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(asked: list[Any]) -> None:
        if any(one["content"]["body"] == "Number 3" for one in asked):
            raise DataError("this one")

    held = Held(refuse)
    monkeypatch.setattr(together, "accept", held)
    answers = at_once(call, held, [body(number) for number in range(CALLS)])
    codes = [answer.status_code for answer in answers]
    assert (codes.count(202), codes[3]) == (CALLS - 1, 500)
    assert Message.objects.count() == CALLS - 1
    assert not together._waiting


def test_a_key_revoked_meanwhile_is_refused_to_all_who_wait(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def revoke(_: list[Any]) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE notifications_apikey SET revoked_at = %s", [timezone.now()])

    held = Held(revoke)
    monkeypatch.setattr(together, "accept", held)
    answers = at_once(call, held, [body(number) for number in range(CALLS)])
    assert {answer.status_code for answer in answers} == {401}
    assert not Message.objects.exists()
    assert not together._waiting
