"""What was put in the outbox reaches its receiver, signed, by a name that stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from unittest.mock import patch

import pytest
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from notifications.people.project import Project
from notifications.webhooks import claiming, send_calls, unpacking
from notifications.webhooks.call import Call, again, failed
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Outgoing
from notifications.webhooks.transports.https_post import Answer
from tests.given.builders import make_project
from tests.given.endpoints import due_now, happened, make_endpoint, send
from tests.given.waiting import eventually
from tests.servers.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody rings in between: what is not due is not waited for."""
    monkeypatch.setattr(send_calls, "IDLE_FOR", 0.05)
    monkeypatch.setattr(send_calls, "LOOK_AGAIN", 0.02)


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def test_each_event_is_a_signed_call_of_its_own(shop: Project, receiver: Receiver) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    happened(shop, 3)
    assert Outgoing.objects.count() == 1, "one row for a commit"
    send()

    assert [event["data"]["contact"] for event in sorted_(receiver)] == ["u0", "u1", "u2"]
    for one in receiver.taken:
        assert Webhook(endpoint.open()).verify(one.body, one.headers)["id"] == one.name
        assert one.path == "/hooks?of=us"
    assert not Outgoing.objects.exists()
    call = Call.objects.first()
    assert call and (call.state, call.status, call.answer) == ("accepted", 200, "thank you")
    endpoint.refresh_from_db()
    assert endpoint.answered_at and endpoint.failing_since is None


def sorted_(receiver: Receiver) -> list[dict[str, dict[str, str]]]:
    return sorted(receiver.events, key=lambda event: str(event["data"]["contact"]))


def test_only_what_was_ticked_is_sent_and_nothing_of_another_project(
    shop: Project, receiver: Receiver
) -> None:
    make_endpoint(shop, receiver.url, kinds=[EventType.RECEIPT])
    make_endpoint(make_project(slug="other"), receiver.url)
    happened(shop, kind=EventType.OPT_OUT)
    assert not Outgoing.objects.exists()
    happened(shop, kind=EventType.RECEIPT)
    send()
    assert [event["type"] for event in receiver.events] == ["receipt"]


def test_many_go_as_lines_of_five_hundred_each_with_an_id_of_its_own(
    shop: Project, receiver: Receiver
) -> None:
    endpoint = make_endpoint(shop, receiver.url, batched=True)
    happened(shop, 400)
    happened(shop, 400)
    begun, claim = list[datetime](), claiming.claim

    def noted(**asked: Any) -> list[Call]:
        calls = claim(**asked)
        begun.extend([asked["now"]] * len(calls))
        return calls

    def both_are_taken() -> bool:
        send()
        return len(receiver.taken) == 2

    with patch.object(claiming, "claim", noted):
        eventually("both are taken", both_are_taken)
    assert [len(one.events) for one in receiver.taken] == [500, 300]
    assert begun[1] - begun[0] >= timedelta(seconds=1), "one call a second"
    first = receiver.taken[0]
    assert first.headers["content-type"] == "application/x-ndjson"
    Webhook(endpoint.open()).verify(first.body, first.headers, json_parse=False)
    assert set(receiver.by_id.values()) == {1} and len(receiver.by_id) == 800


def test_a_receiver_that_fails_gets_each_event_by_its_old_name(
    shop: Project, receiver: Receiver
) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    receiver.status, receiver.says = 503, b"come back"
    happened(shop)
    send()
    call = Call.objects.get()
    assert (call.state, call.status, call.answer, call.tries) == ("waiting", 503, "come back", 1)
    assert call.next_at > timezone.now() + timedelta(seconds=3)

    receiver.status = 200
    due_now()
    send()
    assert [one.status for one in receiver.heard] == [503, 200]
    assert len({one.name for one in receiver.heard}) == 1
    endpoint.refresh_from_db()
    assert endpoint.failing_since is None and endpoint.failures == 0


def test_while_it_fails_one_call_tries_it_and_the_first_taken_brings_the_others_forward(
    shop: Project, receiver: Receiver
) -> None:
    make_endpoint(shop, receiver.url)
    receiver.status = 500
    happened(shop, 100)
    send()
    assert len(receiver.heard) < 40, "not a hundred"
    receiver.status = 200
    Endpoint.objects.update(rests_until=None)
    Call.objects.filter(pk=Call.objects.filter(state="waiting").first().pk).update(  # type: ignore[union-attr]
        next_at=timezone.now()
    )
    send()
    assert set(receiver.by_id.values()) == {1} and len(receiver.by_id) == 100


def test_what_is_under_way_when_it_recovers_is_not_sent_beside_itself(
    shop: Project, receiver: Receiver
) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    happened(shop, 3)
    now = timezone.now()
    unpacking.unpack(now=now)
    slow, quick, later = claiming.claim(now=now, room=9, under_way=[])
    Endpoint.objects.update(failures=claiming.FAILS, failing_since=now)
    claiming.settle([claiming.Tried(later, Answer(status=500))], now=now)

    claiming.settle([claiming.Tried(quick, Answer(status=200))], now=timezone.now())

    endpoint.refresh_from_db()
    assert (endpoint.failures, endpoint.rests_until) == (0, None)
    brought_forward = claiming.claim(now=timezone.now(), room=9, under_way=[])
    assert [one.pk for one in brought_forward] == [later.pk]
    claiming.settle([claiming.Tried(slow, Answer(status=200))], now=timezone.now())
    assert Call.objects.get(pk=slow.pk).state == "accepted"


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("600", 600), ("9" * 400, 3_600), ("a date", 600), ("soon", 5), ("Mon, 01 Jan 2001", 5)],
)
def test_it_asks_for_time_and_gets_it(
    shop: Project, receiver: Receiver, asked: str, seconds: int
) -> None:
    make_endpoint(shop, receiver.url)
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    receiver.status = 429
    receiver.headers = {"Retry-After": asked.replace("a date", then)}
    happened(shop)
    send()
    waits = (Call.objects.get().next_at - timezone.now()).total_seconds()
    assert seconds - 50 < waits < seconds * 1.2 + 1


def test_after_three_days_a_call_is_given_up_and_can_be_replayed(
    shop: Project, receiver: Receiver
) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    receiver.status = 500
    happened(shop, 2)
    send()
    Call.objects.update(gives_up_at=timezone.now())
    due_now()
    send()
    assert failed(endpoint).count() == 2

    receiver.status = 200
    assert again(failed(endpoint), now=timezone.now()) == 2
    due_now()
    send()
    assert Call.objects.filter(state="accepted").count() == 2
    assert len({one.name for one in receiver.heard}) == 2


def test_410_ends_it_at_once_and_the_others_of_the_project_hear_of_it(
    shop: Project, receiver: Receiver
) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    make_endpoint(shop, "ops@example.com", name="Ops", via="email", kinds=[])
    receiver.status = 410
    happened(shop)
    send()
    endpoint.refresh_from_db()
    assert (endpoint.disabled_why, bool(endpoint.disabled_at)) == ("gone", True)
    assert Call.objects.get(endpoint=endpoint).state == "failed"
    told = Call.objects.get(endpoint__name="Ops")
    assert told.events[0]["data"] == {"endpoint": endpoint.pk, "name": "Shop", "why": "gone"}
    shop.refresh_from_db()
    assert shop.wanted_reports == []


def test_after_five_days_without_an_answer_it_is_disabled(
    shop: Project, receiver: Receiver
) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    receiver.status = 500
    happened(shop)
    send()
    Endpoint.objects.update(failing_since=timezone.now() - timedelta(days=5))
    due_now()
    send()
    endpoint.refresh_from_db()
    assert endpoint.disabled_why == Endpoint.Why.FAILING
    due_now()
    heard = len(receiver.heard)
    send()
    assert len(receiver.heard) == heard, "nothing is sent to it any more"
    endpoint.enable()
    receiver.status = 200
    send()
    assert len(receiver.taken) == 1, "what waited is sent once it is on again"


def test_a_test_is_tried_again_as_any_event_is(shop: Project, receiver: Receiver) -> None:
    """Whoever starts their server a minute later gets it all the same."""
    endpoint = make_endpoint(shop, receiver.url)
    receiver.status = 503
    unpacking.test(endpoint, now=timezone.now())
    send()
    call = Call.objects.get()
    assert (call.state, call.status, call.tries) == ("waiting", 503, 1)
    assert timedelta(0) < call.next_at - timezone.now() < timedelta(seconds=7)
    receiver.status = 200
    due_now()
    send()
    call.refresh_from_db()
    assert (call.state, call.status, call.tries) == ("accepted", 200, 2)
    assert [one.name for one in receiver.heard] == [call.name, call.name]
    endpoint.refresh_from_db()
    assert (endpoint.failures, endpoint.failing_since) == (0, None), "no event failed"


def test_a_test_of_a_disabled_endpoint_is_tried_once(shop: Project, receiver: Receiver) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    endpoint.disable(Endpoint.Why.BY_HAND, now=timezone.now())
    receiver.status = 503
    unpacking.test(endpoint, now=timezone.now())
    send()
    call = Call.objects.get()
    assert (call.state, call.status, call.tries) == ("failed", 503, 1)


def test_a_test_is_given_up_after_three_days(shop: Project, receiver: Receiver) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    receiver.status = 503
    unpacking.test(endpoint, now=timezone.now())
    Call.objects.update(gives_up_at=timezone.now())
    send()
    assert Call.objects.get().state == "failed"


def test_both_secrets_sign_for_a_day(shop: Project, receiver: Receiver) -> None:
    endpoint = make_endpoint(shop, receiver.url)
    old = endpoint.open()
    new = endpoint.rotate(now=timezone.now())
    happened(shop)
    send()
    for secret in (old, new):
        Webhook(secret).verify(receiver.taken[0].body, receiver.taken[0].headers)

    Endpoint.objects.update(before_ends_at=timezone.now())
    happened(shop)
    send()
    last = receiver.taken[-1]
    Webhook(new).verify(last.body, last.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(last.body, last.headers)


def test_a_worker_that_dies_with_a_call_leaves_it_to_another(
    shop: Project, receiver: Receiver
) -> None:
    make_endpoint(shop, receiver.url)
    happened(shop)
    unpacking.unpack(now=timezone.now())
    (held,) = claiming.claim(now=timezone.now(), room=9, under_way=[])
    send()
    assert receiver.heard == [], "it is another's"
    due_now()  # the time that a try may take has passed
    send()
    assert [one.name for one in receiver.taken] == [held.name]
    claiming.settle([claiming.Tried(held, Answer(status=500))], now=timezone.now())
    assert Call.objects.get().state == "accepted", "who comes late writes nothing"


def test_a_slow_receiver_does_not_hold_up_another(shop: Project, receiver: Receiver) -> None:
    make_endpoint(shop, "https://localhost:1/", name="Away")
    make_endpoint(shop, receiver.url)
    happened(shop, 20)
    send()
    assert len(receiver.by_id) == 20
    assert not Call.objects.filter(endpoint__name="Away", state="accepted").exists()
    away = Call.objects.filter(endpoint__name="Away", tries__gt=0).first()
    assert away and away.error == "unreachable"


def test_who_answers_slowly_takes_no_room_from_others(shop: Project, receiver: Receiver) -> None:
    """Five of them, each with more than it may have on its way, and one of another project."""
    slow = [make_endpoint(shop, receiver.url, name=f"Slow {number}") for number in range(5)]
    happened(shop, 40)
    unpacking.unpack(now=timezone.now())
    flying = claiming.claim(now=timezone.now(), room=64, under_way=[])
    assert len(flying) == 32, "half of the room is for other projects"

    other = make_endpoint(make_project(slug="other"), receiver.url)
    happened(other.project, 40)
    unpacking.unpack(now=timezone.now())
    more = claiming.claim(now=timezone.now(), room=64 - len(flying), under_way=flying)
    assert {call.endpoint for call in more} == {other}

    answered = flying[:8]
    late = claiming.claim(now=timezone.now(), room=24, under_way=[*flying[8:], *more])
    names = [call.endpoint for call in late if call.endpoint != other]
    assert len(names) == len(answered) and names[0] not in {call.endpoint for call in flying}
    assert {*names} < {*slow}
