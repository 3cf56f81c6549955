"""Who may listen, for how long, and how many."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from notifications.inbox import online_people
from notifications.inbox.online_people import Online, online_since
from notifications.keys import inbox_secret
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.own_app import OwnApp, app_of, token_of
from tests.feed.conftest import send
from tests.given.builders import make_contact
from tests.given.waiting import eventually
from tests.servers.feed import Ear, Feed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def small() -> Iterator[Feed]:
    """A feed with room for twelve, and nobody asked to call slowly."""
    feed = Feed({"FEED_STREAMS": "12", "API_RATE_PER_PERSON": "0"})
    yield feed
    feed.kill()


def test_a_ticket_opens_the_persons_stream_and_nothing_else(
    feed: Feed, ada: Contact, app: OwnApp
) -> None:
    made = app("POST", "inbox/ticket").json()
    assert made["url"].endswith(f"/api/v1/me/inbox/stream?ticket={quote(made['ticket'])}")
    ear = feed.listen_by_ticket(made["ticket"])
    ear.until("counts")
    send(ada)
    ear.items(1)
    assert OwnApp(made["ticket"])("GET", "preferences").status_code == 401


def test_a_ticket_is_good_for_a_minute(
    feed: Feed, app: OwnApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    with monkeypatch.context() as earlier:
        earlier.setattr("django.core.signing.time.time", lambda: now - 61)
        old = app("POST", "inbox/ticket").json()["ticket"]
        earlier.setattr("django.core.signing.time.time", lambda: now - 50)
        young = app("POST", "inbox/ticket").json()["ticket"]
    refused = feed.listen_by_ticket(old)
    assert (refused.status, refused.refusal()["type"]) == (401, "urn:carillon:ticket-expired")
    assert feed.listen_by_ticket(young).status == 200
    assert feed.listen_by_ticket(young).status == 200  # a browser that calls again at once


@pytest.mark.parametrize("ticket", ["", "x", "W10:1abc:xyz", "%00", "a" * 5_000, "1:2:3:4"])
def test_a_ticket_that_is_none_is_refused(feed: Feed, ours: Project, ticket: str) -> None:
    assert feed.listen_by_ticket(ticket).status == 401


def test_a_stream_needs_a_token(feed: Feed, ours: Project) -> None:
    refused = feed.listen()
    assert refused.status == 401
    assert refused.headers["content-type"] == "application/problem+json"
    assert feed.listen("inbox1.nonsense").status == 401


def test_a_ticket_and_a_stream_end_with_the_secret_that_signed_the_token(
    feed: Feed, ear: Ear, ours: Project, app: OwnApp
) -> None:
    ticket = app("POST", "inbox/ticket").json()["ticket"]
    inbox_secret.replace(ours, now=timezone.now())
    assert feed.listen(app.token).status == 200  # both are good
    inbox_secret.end_the_one_before(ours, now=timezone.now())
    assert feed.listen(app.token).status == 401
    assert feed.listen_by_ticket(ticket).status == 401
    ear.until_closed()


def test_a_stream_ends_with_its_token(feed: Feed, ours: Project, ada: Contact) -> None:
    ear = feed.listen(token_of(ours, "ada", seconds=2))
    assert ear.status == 200
    ear.until_closed()
    assert ear.events[-1].retry


def test_a_stream_ends_when_its_person_is_erased(ear: Ear, ada: Contact) -> None:
    ada.delete()
    ear.until_closed()


def test_a_page_of_an_allowed_origin_may_listen_and_another_may_not(
    feed: Feed, ours: Project, app: OwnApp
) -> None:
    Project.objects.filter(pk=ours.pk).update(allowed_origins=["https://shop.example.com"])
    ear = feed.listen(app.token, Origin="https://shop.example.com")
    assert (ear.status, ear.headers["access-control-allow-origin"]) == (
        200,
        "https://shop.example.com",
    )
    refused = feed.listen(app.token, Origin="https://evil.example.com")
    assert refused.status == 403
    assert "access-control-allow-origin" not in refused.headers


def test_the_web_itself_says_where_streams_are(app: OwnApp) -> None:
    refused = app("GET", "inbox/stream")
    assert (refused.status_code, refused.json()["type"]) == (421, "urn:carillon:elsewhere")


def test_one_person_and_all_together_have_so_many_streams_and_no_more(
    small: Feed, ours: Project, ada: Contact, app: OwnApp
) -> None:
    make_contact(ours, external_id="bob")
    hers = [small.listen(app.token) for _ in range(10)]
    assert {each.status for each in hers} == {200}
    one_more = small.listen(app.token)
    assert one_more.status == 429 and int(one_more.headers["retry-after"]) > 0
    assert "10 streams" in one_more.refusal()["detail"]
    bobs = app_of(ours, "bob").token
    assert [small.listen(bobs).status for _ in range(2)] == [200, 200]
    assert small.listen(bobs).status in (200, 503)
    hers[0].close()
    eventually("there is room again", lambda: small.listen(app.token).status == 200)


def test_a_full_process_refuses_and_says_when_to_come_again(
    small: Feed, ours: Project, ada: Contact
) -> None:
    make_contact(ours, external_id="bob")
    kept = [small.listen(app_of(ours, name).token) for name in ("ada", "bob") * 6]
    assert {each.status for each in kept} == {200}
    refused = small.listen(app_of(ours, "bob").token)
    assert (refused.status, refused.headers["retry-after"]) == (503, "10")


def test_who_has_heard_a_word_is_known_to_be_there(
    feed: Feed, ear: Ear, ours: Project, ada: Contact
) -> None:
    """A message that stays quiet for who is looking may come at once."""
    assert online_since([ada.pk], 1) == {ada.pk}


def test_who_listens_is_known_to_be_there_and_is_forgotten(
    feed: Feed, ear: Ear, ours: Project, ada: Contact
) -> None:
    bob = make_contact(ours, external_id="bob")
    eventually("Ada is online", lambda: online_since([ada.pk, bob.pk], 30) == {ada.pk})
    assert online_since([bob.pk], 30) == set()
    Online.objects.filter(contact_id=ada.pk).update(seen_at=timezone.now() - timedelta(hours=1))
    Online.objects.create(contact_id=bob.pk, seen_at=timezone.now() - timedelta(hours=1))
    online_people.forget()
    assert not Online.objects.filter(contact_id=bob.pk).exists()
    eventually("she still is", lambda: online_since([ada.pk], 30) == {ada.pk})
