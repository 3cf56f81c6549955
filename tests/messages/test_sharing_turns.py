"""Calls that come one soon after the other share a turn, and nobody waits who comes alone."""

from __future__ import annotations

import asyncio
import time

import pytest

from config.front.dispatch import batching
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.given.builders import make_contact, make_device
from tests.messages.both_ways import Heard, Web
from tests.messages.request_body import body

pytestmark = pytest.mark.django_db(transaction=True)
LONG = 5.0  # seconds


@pytest.fixture
def key(transactional_db: None, project: Project) -> str:
    """Known here: it has called before."""
    for number in range(6):
        make_device(make_contact(project, external_id=f"p{number}"), f"live{number}:APA91b")
    _, key = ApiKey.issue(project, "test")
    assert Web().post(key, body(0))[0].status == 202
    return key


async def steadily(web: Web, key: str, calls: int, *, apart: float) -> list[Heard]:
    asked = []
    for number in range(calls):
        asked.append(asyncio.create_task(web.one(key, body(number))))
        await asyncio.sleep(apart)
    return await asyncio.gather(*asked)


def test_calls_that_keep_coming_share_turns(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "GATHERING", 0.5)
    web = Web()
    web.before = lambda: time.sleep(0.2)  # the second comes meanwhile, and with it they are several
    (heard,) = web.run([steadily(web, key, 6, apart=0.1)])
    assert [one.status for one in heard] == [202] * 6
    assert web.turns == [1, 5]


def test_who_calls_again_when_answered_waits_for_nobody(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "GATHERING", LONG)
    web = Web()

    async def one_after_the_other() -> None:
        for number in range(3):
            assert (await web.one(key, body(number))).status == 202

    began = time.monotonic()
    web.run([one_after_the_other()])
    assert web.turns == [1, 1, 1]
    assert time.monotonic() - began < LONG


def test_a_full_turn_waits_for_nobody(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "GATHERING", LONG)
    monkeypatch.setattr(batching, "MOST", 2)
    web = Web()
    began = time.monotonic()
    assert {heard.status for heard in web.post(key, *map(body, range(4)))} == {202}
    assert web.turns == [2, 2]
    assert time.monotonic() - began < LONG
