"""Calls that are in order go by express; it takes and says what the ordinary way does."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import DataError, OperationalError, connection
from django.utils import timezone

from campaigns.runs.messages.accepting import accept_new
from campaigns.runs.messages.message import Message
from config.express import express
from config.middleware import rate_limits
from notifications.api.base import authentication
from notifications.people.consent.category import Category
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey, Scope
from tests.given.builders import make_contact, make_device, make_project, make_template
from tests.messages.both_ways import Heard, Web
from tests.messages.request_body import body

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = 12
OF_EACH = {"x-request-id", "location", "ratelimit", "content-length"}


@pytest.fixture
def key(transactional_db: None, project: Project) -> str:
    """Known here: it has called before."""
    for number in range(CALLS):
        make_device(make_contact(project, external_id=f"p{number}"), f"live{number}:APA91b")
    _, key = ApiKey.issue(project, "test")
    assert Web().post(key, body(0))[0].status == 202
    Message.objects.all().delete()
    return key


def wait_for(event: threading.Event, seconds: float = 20) -> None:
    event.wait(seconds)


def at_once(web: Web, key: str, bodies: list[Any]) -> list[Heard]:
    """The first has a turn of its own; while that lasts the others come."""
    begun, go = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        go.wait(20)

    async def all_of_them() -> list[Heard]:
        asked = [asyncio.create_task(web.one(key, bodies[0]))]
        await asyncio.to_thread(begun.wait, 20)
        asked += [asyncio.create_task(web.one(key, one)) for one in bodies[1:]]
        await asyncio.sleep(0.05)
        go.set()
        return await asyncio.gather(*asked)

    web.before = hold
    (heard,) = web.run([all_of_them()])
    return list(heard)


def test_a_call_in_order_goes_by_express_and_is_answered_as_on_the_ordinary_way(key: str) -> None:
    web, ordinary = Web(), Web(short=False)
    (short,), (long,) = web.post(key, body(1)), ordinary.post(key, body(1))
    assert (web.ordinary, ordinary.ordinary) == (0, 1)
    assert short.status == long.status == 202
    assert short.headers.keys() == long.headers.keys()
    assert of_all(short) == of_all(long)
    for heard in (short, long):
        assert heard.headers["location"] == heard.said["url"]
        assert heard.said["url"] == f"http://localhost/api/v1/messages/{heard.said['id']}"
        assert heard.said["state"] == "waiting"
    assert short.said["id"] != long.said["id"]
    assert Message.objects.count() == 2


def of_all(heard: Heard) -> dict[str, str]:
    return {name: value for name, value in heard.headers.items() if name not in OF_EACH}


def test_an_answer_carries_the_name_its_request_came_with(key: str) -> None:
    (heard,) = Web().post(key, body(1), x_request_id="ours-17")
    assert heard.headers["x-request-id"] == "ours-17"


def test_calls_that_come_at_once_share_a_commit_and_each_has_its_own_message(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []

    def keep(key: ApiKey, asked: dict[int, Any]) -> dict[int, str]:
        kept.append(len(asked))
        return accept_new(key, asked)

    monkeypatch.setattr(express, "accept_new", keep)
    web = Web()
    heard = at_once(web, key, [*(body(number) for number in range(CALLS - 1)), body(999)])
    assert [one.status for one in heard] == [202] * (CALLS - 1) + [400]
    assert kept == [1, CALLS - 1] == web.turns
    assert web.ordinary == 1  # to say that nobody is called p999
    texts = {one.id: one.content["body"] for one in Message.objects.all() if one.content}
    assert {one.said["id"]: f"Number {n}" for n, one in enumerate(heard[:-1])} == texts


def test_who_may_be_created_and_is_known_is_a_call_in_order(key: str) -> None:
    web = Web()
    (heard,) = web.post(key, {**body(1), "create": True})
    assert (heard.status, web.ordinary) == (202, 0)


def test_each_project_of_a_turn_has_its_own(key: str) -> None:
    other = make_project()
    make_contact(other, external_id="p1")
    _, theirs = ApiKey.issue(other, "test")
    Web().post(theirs, body(1))
    Message.objects.all().delete()
    web = Web()
    held = threading.Event()
    web.before = lambda: wait_for(held, 1)
    ours, others = web.run([web.one(key, body(1)), web.one(theirs, body(1))])
    assert (ours.status, others.status, web.ordinary) == (202, 202, 0)
    people = Message.objects.values_list("contact_id", flat=True)
    assert len(set(people)) == 2


def test_a_key_that_comes_twice_in_a_turn_makes_one_message(key: str) -> None:
    again = {"deduplicate": {"key": "order-17"}}
    heard = at_once(Web(), key, [body(0), *(body(1, **again) for _ in range(3))])
    assert sorted(one.status for one in heard) == [200, 200, 202, 202]
    assert len({one.said["id"] for one in heard[1:]}) == 1
    assert Message.objects.count() == 2


def test_what_one_call_breaks_does_not_break_the_others(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(key: ApiKey, asked: dict[int, Any]) -> dict[int, str]:
        raise DataError("one of them")

    monkeypatch.setattr(express, "accept_new", refuse)
    web = Web()
    heard = web.post(key, *(body(number) for number in range(CALLS)))
    assert [one.status for one in heard] == [202] * CALLS
    assert (web.ordinary, Message.objects.count()) == (CALLS, CALLS)


def test_a_call_whose_answer_postgresql_lost_is_not_made_once_more(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(key: ApiKey, asked: dict[int, Any]) -> dict[int, str]:
        accept_new(key, asked)
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(express, "accept_new", lose)
    web = Web()
    heard = web.post(key, body(1), body(2))
    assert [(one.status, one.headers["retry-after"]) for one in heard] == [(503, "2")] * 2
    assert (web.ordinary, Message.objects.count()) == (0, 2)


def test_a_connection_that_died_since_the_last_turn_is_made_anew(key: str) -> None:
    web = Web()

    def kill() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        connection.close()

    async def twice() -> Heard:
        assert (await web.one(key, body(1))).status == 202
        await asyncio.to_thread(kill)
        return await web.one(key, body(2))

    (heard,) = web.run([twice()])
    connection.close()  # of this thread, which has died as well
    assert heard.status == 202
    assert Message.objects.count() == 2


def test_a_key_revoked_meanwhile_is_refused_to_all_who_wait(key: str) -> None:
    def revoke() -> None:
        ApiKey.objects.update(revoked_at=timezone.now())

    web = Web()
    web.before = revoke
    heard = web.post(key, *(body(number) for number in range(CALLS)))
    assert {one.status for one in heard} == {401}
    assert not Message.objects.exists()
    assert not authentication.is_remembered(f"Bearer {key}")


def test_a_caller_who_leaves_takes_nobody_along(key: str) -> None:
    web = Web()
    go = threading.Event()
    web.before = lambda: wait_for(go)

    async def play() -> Heard:
        first = asyncio.create_task(web.one(key, body(0)))
        leaves = asyncio.create_task(web.one(key, body(1)))
        stays = asyncio.create_task(web.one(key, body(2)))
        await asyncio.sleep(0.1)
        leaves.cancel()
        go.set()
        assert (await first).status == 202
        return await stays

    (heard,) = web.run([play()])
    assert heard.status == 202
    assert Message.objects.count() == 3  # what has come is kept, though nobody hears it


def test_a_call_that_goes_the_ordinary_way_after_all_is_counted_once(
    key: str, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_RATE_PER_KEY, settings.API_RATE_PER_ADDRESS = 50, 0
    monkeypatch.setattr(rate_limits, "clock", lambda: "1000000")  # nothing comes back meanwhile
    heard = [Web().post(key, one)[0] for one in (body(1), body(999), body(2))]
    assert [one.status for one in heard] == [202, 400, 202]
    assert [one.headers["ratelimit"] for one in heard] == [
        f'"key";r={left};t=1' for left in (99, 98, 97)
    ]


def test_calls_of_a_turn_are_counted_each_and_by_one_question(
    key: str, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_RATE_PER_KEY, settings.API_RATE_PER_ADDRESS = 4, 0
    monkeypatch.setattr(rate_limits, "clock", lambda: "1000000")
    asked, sent = [], rate_limits._sent

    def noted(limits: Any) -> Any:
        asked.append(len(limits))
        return sent(limits)

    monkeypatch.setattr(rate_limits, "_sent", noted)
    heard = at_once(Web(), key, [body(number) for number in range(10)])
    assert asked == [1, 9]
    assert [one.status for one in heard] == [202] * 8 + [429] * 2
    left = [one.headers["ratelimit"].partition(";")[2] for one in heard]
    assert left == [
        f"r={r};t={t}" for r, t in zip([*range(7, -1, -1), 0, 0], [1] * 4 + [2] * 6, strict=True)
    ]
    assert Message.objects.count() == 8


def test_a_key_that_calls_too_often_is_told_so(key: str, settings: LazySettings) -> None:
    settings.API_RATE_PER_KEY, settings.API_RATE_PER_ADDRESS = 1, 0
    statuses = [one.status for one in Web().post(key, *(body(1) for _ in range(CALLS)))]
    assert statuses.count(429) >= CALLS - 4
    assert statuses.count(202) == Message.objects.count()


HELLO = {"title": "Hello", "body": "x"}
ODD: dict[str, tuple[Any, dict[str, str]]] = {
    "no JSON": (b"{", {}),
    "nothing": (b"", {}),
    "null": (b"null", {}),
    "a list": ([], {}),
    "a name twice": (b'{"to": {"contact": "p1"}, "to": {"contact": "p1"}}', {}),
    "NUL": ({"to": {"contact": "p1\0"}, "content": HELLO}, {}),
    "NUL in a value": (body(1, variables={"a": "\0"}), {}),
    "half of a letter": (b'{"to": {"contact": "\\ud800"}, "content": {}}', {}),
    "no text": ({"to": {"contact": "p1"}}, {}),
    "nobody": ({"content": HELLO}, {}),
    "a field we do not know": (body(1, tittle="x"), {}),
    "whom nobody knows": (body(999), {}),
    "a device nobody knows": ({"to": {"device": "x"}, "content": HELLO}, {}),
    "no category of ours": (body(1, category=10**9), {}),
    "no template of ours": ({"to": {"contact": "p1"}, "template": 10**9}, {}),
    "a broken text": ({"to": {"contact": "p1"}, "content": {**HELLO, "body": "{{ a"}}, {}),
    "a time too far ahead": (body(1, at="2099-01-01T00:00:00Z"), {}),
    "another type": (body(1), {"content_type": "text/plain"}),
    "no type": (body(1), {"content_type": ""}),
    "a packed body": (body(1), {"content_encoding": "gzip"}),
    "no host of ours": (body(1), {"host": "evil.example"}),
    "no key": (body(1), {"authorization": ""}),
    "another scheme": (body(1), {"authorization": "Basic eDp5"}),
    "a query": (body(1), {"path": "/api/v1/messages?x=1"}),
    "an empty Idempotency-Key": (body(1), {"idempotency_key": ""}),
    "to nobody of many": ({"to": {"contacts": []}, "content": HELLO}, {}),
    "a very long text": (body(1, variables={"a": "x" * 100_000}, tittle="x"), {}),
    "a word for yes": (body(1, inbox="yes"), {}),
    "a number for yes": (body(1, create=1), {}),
    "a number for a key": (body(1, deduplicate={"key": 5}), {}),
    "a text for a number": (body(1, ttl_seconds="60"), {}),
    "a number for a title": ({"to": {"contact": "p1"}, "content": {**HELLO, "title": 5}}, {}),
    "a number for a link": ({"to": {"contact": "p1"}, "content": {**HELLO, "link": 5}}, {}),
    "a number for a device": ({"to": {"device": 5}, "content": HELLO}, {}),
    "a number for a version": (
        {
            "to": {
                "contact": "x",
                "devices": [{"token": "t", "platform": "ios", "app_version": 5}],
            },
            "create": True,
            "content": HELLO,
        },
        {},
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_refused_in_the_same_words_on_both_ways(key: str, name: str) -> None:
    sent, headers = ODD[name]
    (short,) = Web().post(key, sent, **headers)
    (long,) = Web(short=False).post(key, sent, **headers)
    assert short.status == long.status >= 400
    assert (short.said, of_all(short)) == (long.said, of_all(long))
    assert not Message.objects.exists()


TAKEN: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "several people": ({"to": {"contacts": ["p1", "p2"]}, "content": HELLO}, {}),
    "who is created": ({"to": {"contact": "new"}, "create": True, "content": HELLO}, {}),
    "an Idempotency-Key": (body(1), {"idempotency_key": "x"}),
    "a long text": (body(1, variables={"a": "x" * 100_000}), {}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_in_order_and_takes_longer_goes_the_ordinary_way(key: str, name: str) -> None:
    sent, headers = TAKEN[name]
    web = Web()
    (heard,) = web.post(key, sent, **headers)
    assert (heard.status, web.ordinary) == (202, 1)


def test_every_field_is_kept_as_on_the_ordinary_way(key: str, project: Project) -> None:
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    template = make_template(project)
    tomorrow = (timezone.now() + timedelta(days=1)).isoformat()
    every = {
        "to": {"device": "live1:APA91b"}, "template": template.pk, "variables": {"a": 1.50},
        "category": offers.pk, "ttl_seconds": 60, "collapse": "room", "priority": "high",
        "options": {"android": {"channel_id": "x"}}, "on_unknown": "hold", "inbox": True,
        "article": "long", "inbox_days": 3, "at": tomorrow,
        "deduplicate": {"key": "a", "window_seconds": 1},
    }  # fmt: skip
    web = Web()
    short = web.post(key, every)[0]
    long = Web(short=False).post(key, {**every, "deduplicate": {"key": "b"}})[0]
    assert (short.status, long.status, web.ordinary) == (202, 202, 0)
    one, other = (row_of(heard) for heard in (short, long))
    assert one == other


def row_of(heard: Heard) -> dict[str, Any]:
    run, number = heard.said["id"].split("-")
    row = Message.objects.filter(run_id=run, number=number).values().get()
    return {name: value for name, value in row.items() if name not in ("number", "created_at")}


def test_a_key_without_the_scope_is_refused(key: str, project: Project) -> None:
    _, readers = ApiKey.issue(project, "reader", [Scope.CONTACTS.value])
    for _ in range(2):  # the second time it is remembered
        assert Web().post(readers, body(1))[0].status == 403
    assert not Message.objects.exists()
