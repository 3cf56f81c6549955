"""Counted links: they lead to the page of their very message, count it once, and no other."""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings

from campaigns.engagement.receipt import EchoSum, Event, Receipt, Reporter
from campaigns.runs.run import Run
from notifications.keys.counted_link import link_through_us
from notifications.keys.receipt_id import receipt_id
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.waiting import eventually
from tests.servers.feed import Feed
from tests.servers.relay import Relay
from tests.servers.workers import database_of_the_tests

pytestmark = pytest.mark.django_db(transaction=True)
OURS = "https://push.example.com"
SHOP = "https://shop.example/offers?city=S%C3%A3o&who=ada#new"
A_PHONE = "Mozilla/5.0 (Linux; Android 10; CUBOT X30) Chrome/142.0 Mobile Safari/537.36"


@pytest.fixture(autouse=True)
def reached(settings: LazySettings) -> None:
    settings.PHONES_URL = OURS


@pytest.fixture
def run(ours: Project) -> Run:
    make_people(ours, 2)
    return make_run(ours)


def link(run: Run, target: str = SHOP, *, seq: int = 1) -> str:
    """Its path, as the proxy passes it on."""
    return link_through_us(f"{run.pk}:{seq}", target).removeprefix(OURS)


def ask(feed: Feed, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", feed.port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers={"User-Agent": A_PHONE, **named})
    answer = connection.getresponse()
    return answer, answer.read().decode()


def opened() -> list[int]:
    rows = Receipt.objects.filter(event=Event.OPENED).order_by("seq")
    return list(rows.values_list("seq", flat=True))


def test_a_link_leads_to_the_page_of_its_message_and_is_counted_once(feed: Feed, run: Run) -> None:
    for _ in range(2):
        answer, said = ask(feed, link(run))
        assert (answer.status, answer.headers["Location"], said) == (302, SHOP, "")
    answer, _ = ask(feed, link(run, "https://shop.example/for/bob", seq=2))
    assert answer.headers["Location"] == "https://shop.example/for/bob"
    assert opened() == [1, 2]
    assert EchoSum.objects.get(run_id=run.pk, by="", event=Event.OPENED).count == 2
    assert Reporter.objects.filter(event=Event.OPENED).count() == 2


def test_what_a_link_and_its_app_tell_of_one_message_counts_once(feed: Feed, run: Run) -> None:
    ask(feed, link(run))
    body = f'{{"receipts": [{{"id": "{receipt_id(f"{run.pk}:1")}", "event": "opened"}}]}}'
    HTTPConnection("127.0.0.1", feed.port).request("POST", "/api/v1/receipts", body)
    ask(feed, link(run))
    assert opened() == [1]


def test_it_is_told_to_nobody_else_and_kept_by_nobody(feed: Feed, run: Run) -> None:
    answer, _ = ask(feed, link(run), Cookie="sessionid=abc", Origin="https://shop.example")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert not {"Set-Cookie", "Access-Control-Allow-Origin"} & set(answer.headers)


@pytest.mark.parametrize(
    "looking",
    [
        {"Sec_Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}, {"X_Moz": "prefetch"},
        {"X_Purpose": "preview"}, {"User_Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"},
        {"User_Agent": "facebookexternalhit/1.1; kakaotalk-scrap/1.0"},
        {"User_Agent": "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"},
    ],
)  # fmt: skip
def test_what_only_looks_is_led_on_and_not_counted(
    feed: Feed, run: Run, looking: dict[str, str]
) -> None:
    answer, _ = ask(feed, link(run), **looking)
    assert (answer.status, answer.headers["Location"]) == (302, SHOP)
    answer, said = ask(feed, link(run), "HEAD")
    assert (answer.status, answer.headers["Location"], said) == (302, SHOP, "")
    assert opened() == []
    ask(feed, link(run))
    assert opened() == [1]


def test_whatever_is_changed_in_a_link_makes_it_unknown(feed: Feed, run: Run) -> None:
    evil = urlsafe_b64encode(b"https://evil.example/").decode().rstrip("=")
    right = link(run).removeprefix("/o/")
    reference, shown, target = right.split(".")
    others, of_another = receipt_id(reference).partition(".")[2], link(run, seq=2).split(".")[1]
    for wrong in (
        f"{reference}.{shown}.{evil}", f"{reference}.{of_another}.{target}",
        f"{run.pk}:2.{shown}.{target}", f"{run.pk + 1}:1.{shown}.{target}",
        f"{reference}.{others}.{target}", receipt_id(reference), right[:-1], f"{right}A",
        f"{right}%0d%0aSet-Cookie:a=b", f"{right}/..", f"./{right}", f"{right}.{evil}", "", ".",
        f"{reference}..{target}", "https://evil.example/", "//evil.example", right.swapcase(),
        "A" * 7_000, f"1:1.{'A' * 22}.{'A' * 5_900}",
    ):  # fmt: skip
        answer, said = ask(feed, f"/o/{wrong}")
        assert answer.status == 404, wrong
        assert "Location" not in answer.headers
        assert said.startswith("This link is not known here") and "evil" not in said
    assert opened() == []


def test_what_follows_a_question_mark_changes_nothing(feed: Feed, run: Run) -> None:
    answer, _ = ask(feed, f"{link(run)}?to=https://evil.example/")
    assert (answer.status, answer.headers["Location"]) == (302, SHOP)


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("https://shop.example/a\r\nSet-Cookie: a=b", "https://shop.example/aSet-Cookie:%20a=b"),
        ("https://shop.example/\x00\x7f", "https://shop.example/%00%7F"),
        ("https://shop.example/서울 ?q=é", "https://shop.example/%EC%84%9C%EC%9A%B8%20?q=%C3%A9"),
        ("https://shop.example\\@evil.example", "https://shop.example\\@evil.example"),
        ("https://shop.example/%2e%2E/{a}|<b>", "https://shop.example/%2e%2E/{a}|<b>"),
        ("https://shop.example/" + "x" * 2_900, "https://shop.example/" + "x" * 2_900),
    ],
)  # fmt: skip
def test_a_link_is_one_line_of_the_answer_whatever_is_in_it(
    feed: Feed, run: Run, target: str, location: str
) -> None:
    answer, _ = ask(feed, link(run, target))
    assert (answer.status, answer.headers["Location"]) == (302, location)
    assert "Set-Cookie" not in answer.headers


def test_another_method_is_named_those_there_are(feed: Feed, run: Run) -> None:
    answer, _ = ask(feed, link(run), "POST")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert opened() == []


def test_a_link_of_recipients_who_were_forgotten_leads_on(feed: Feed, ours: Project) -> None:
    address = link_through_us("999999999:1", SHOP).removeprefix(OURS)
    answer, _ = ask(feed, address)
    assert (answer.status, answer.headers["Location"]) == (302, SHOP)
    assert opened() == []


def test_a_link_leads_on_at_once_while_the_database_hangs(run: Run) -> None:
    relay = Relay(urlsplit(os.environ["DATABASE_URL"]).port or 5432)
    url = urlsplit(database_of_the_tests())
    netloc = f"{url.netloc.rpartition(':')[0]}:{relay.port}"
    feed = Feed({"DATABASE_URL": url._replace(netloc=netloc).geturl()})
    try:
        ask(feed, link(run))
        relay.cut()
        answer, _ = ask(feed, link(run, seq=2))
        assert (answer.status, answer.headers["Location"]) == (302, SHOP)
        assert opened() == [1]
        relay.mend()
        eventually("it is counted when the database is back", lambda: opened() == [1, 2])
    finally:
        feed.kill()
        relay.stop()
