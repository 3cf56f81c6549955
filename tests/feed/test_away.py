"""A server is away: streams stay open, and what was written comes when it is back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from notifications.inbox.item import InboxItem
from notifications.inbox.text import InboxText
from notifications.people.contact import Contact
from tests.api.own_app import OwnApp
from tests.feed.conftest import send
from tests.given.forgetting import flush
from tests.servers.feed import Ear, Feed
from tests.servers.relay import Relay
from tests.servers.workers import database_of_the_tests

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def postgres() -> Iterator[Relay]:
    relay = Relay(urlsplit(os.environ["DATABASE_URL"]).port or 5432)
    yield relay
    relay.stop()


@pytest.fixture
def redis() -> Iterator[Relay]:
    relay = Relay(urlsplit(settings.REDIS_URL).port or 6379)
    yield relay
    relay.stop()


@pytest.fixture
def apart(postgres: Relay, redis: Relay, transactional_db: None) -> Iterator[Feed]:
    """A feed that reaches both servers through a wire we hold."""
    feed = Feed(
        {
            "DATABASE_URL": through(postgres, database_of_the_tests()),
            "REDIS_URL": through(redis, settings.REDIS_URL),
        }
    )
    yield feed
    feed.kill()


def through(relay: Relay, address: str) -> str:
    url = urlsplit(address)
    return url._replace(netloc=f"{url.netloc.rpartition(':')[0]}:{relay.port}").geturl()


@pytest.fixture
def listening(apart: Feed, app: OwnApp) -> Ear:
    ear = apart.listen(app.token)
    ear.until("counts")
    return ear


def test_an_item_comes_though_nobody_rang(feed: Feed, ear: Ear, ada: Contact) -> None:
    text = InboxText.objects.create(project=ada.project, content={"title": "Unheard"})
    InboxItem.objects.create(project=ada.project, contact=ada, text=text, reference="quiet")
    assert ear.until("item").data["title"] == "Unheard"


def test_an_emptied_redis_loses_nothing(ear: Ear, ada: Contact) -> None:
    flush(settings.REDIS_URL)
    send(ada)
    ear.items(1)


def test_items_come_while_redis_is_away_and_the_bell_is_heard_again_after(
    apart: Feed, redis: Relay, listening: Ear, ada: Contact
) -> None:
    redis.hang_up()
    send(ada)
    listening.items(1)
    redis.came.clear()
    redis.mend()
    assert redis.came.wait(30)
    send(ada, 2)
    listening.items(2)
    assert "the doorbell is silent" in apart.log.read_text()


def test_a_redis_that_hangs_is_left_for_one_that_answers(
    redis: Relay, listening: Ear, ada: Contact
) -> None:
    redis.cut()
    redis.came.clear()
    assert redis.came.wait(60)  # it asked twice, and called again
    send(ada)
    listening.items(1)


def test_a_stream_outlives_a_restart_of_postgresql(
    apart: Feed, postgres: Relay, listening: Ear, ada: Contact, app: OwnApp
) -> None:
    postgres.hang_up()
    send(ada)
    assert listening.during(3) == []
    refused = apart.listen(app.token)
    assert (refused.status, refused.headers["retry-after"]) == (503, "2")
    postgres.mend()
    listening.items(1)
    assert listening.until("counts").data == {"unseen": 1, "unread": 1}
