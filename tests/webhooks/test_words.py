"""What people read, in Slack and by e-mail: counts, why, what to do, in their language."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.utils import timezone

from campaigns.webhooks.texts import WORDS
from notifications.webhooks import composing, unpacking
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Event, put
from tests.given.builders import make_project
from tests.given.endpoints import make_endpoint

pytestmark = pytest.mark.django_db
TOTALS = {
    "planned": 1_200, "accepted": 1_100, "rejected": 50, "skipped": 40, "unknown": 10, "waiting": 0,
}  # fmt: skip
RUN: dict[str, Any] = {
    "run": 81,
    "campaign": {"id": 12, "name": "Spring <sale> & more"},
    "state": "finished",
    "totals": TOTALS,
    "rate_per_second": 390.2,
    "duration_seconds": 75.0,
    "cause": None,
    "detail": {"code": "", "args": None, "text": ""},
    "url": "https://push.example.com/admin/campaigns/run/81/change/",
}
PAUSED = {**RUN, "state": "paused", "cause": "bad_credentials"}


def calls_of(endpoint: Endpoint, *events: tuple[str, dict[str, Any]]) -> list[Call]:
    now = timezone.now()
    put(endpoint.project_id, [Event(kind, now, data) for kind, data in events])
    unpacking.unpack(now=now)
    return list(Call.objects.order_by("pk"))


def to(via: str, target: str, **values: Any) -> Endpoint:
    return make_endpoint(make_project(name="Shop"), target, via=via, **values)


def test_slack_has_the_counts_and_a_way_to_the_page() -> None:
    endpoint = to("slack", "hooks.slack.com/…abcd")
    (call,) = calls_of(endpoint, (EventType.RUN_FINISHED, RUN))
    said = [composing._in_words(event, endpoint) for event in call.events]
    sent = json.loads(composing.slack(said))
    assert sent["text"] == "“Spring &lt;sale&gt; &amp; more” is sent", "it could mention everybody"
    text = json.dumps(sent["blocks"], ensure_ascii=False)
    for shown in ("1,200", "1,100", "50", "40", "10", "390 a second", "Shop", "Open the run"):
        assert shown in text
    assert "https://push.example.com/admin/campaigns/run/81/change/" in text


def test_a_run_that_stopped_by_itself_says_why_and_what_to_do_once() -> None:
    endpoint = to("slack", "hooks.slack.com/…abcd")
    (call,) = calls_of(
        endpoint, (EventType.RUN_PAUSED, PAUSED), (EventType.RUN_NEEDS_A_PERSON, PAUSED)
    )
    said = composing._in_words(call.events[0], endpoint)
    assert said.headline == "“Spring <sale> & more” stopped and needs you"
    assert said.text.startswith("FCM refuses our key.") and "service account" in said.text


def test_when_no_message_leaves_it_says_that_nothing_has_to_be_resumed() -> None:
    endpoint = to("slack", "hooks.slack.com/…abcd")
    (call,) = calls_of(endpoint, (EventType.RUN_NEEDS_A_PERSON, {**PAUSED, "campaign": None}))
    said = composing._in_words(call.events[0], endpoint)
    assert said.headline == "No message to single people leaves"
    assert "nothing has to be resumed" in said.text and "then resume" not in said.text


def test_a_name_mentions_nobody() -> None:
    facts = composing.slack([composing.EventText("Hi", "<!channel>", [("Name", "<@U1> & co")])])
    assert b"<!channel>" not in facts and b"<@U1>" not in facts


def test_an_e_mail_goes_to_all_in_their_language(settings: LazySettings) -> None:
    settings.EMAIL_IS_SET = True
    endpoint = to("email", "ada@example.com, bob@example.com", language="ko")
    (call,) = calls_of(endpoint, (EventType.RUN_FINISHED, RUN))
    assert composing.prepare_send(call, now=timezone.now())().accepted
    (sent,) = mail.outbox
    assert sent.to == ["ada@example.com", "bob@example.com"]
    assert "\n" not in sent.subject and "Shop" in sent.subject
    assert "1,100" in sent.body and "is sent" not in sent.body


def test_without_a_mail_server_the_log_says_so() -> None:
    endpoint = to("email", "ada@example.com")
    (call,) = calls_of(endpoint, (EventType.RUN_FINISHED, RUN))
    assert composing.prepare_send(call, now=timezone.now())().error == Call.Error.NO_EMAIL


@pytest.mark.parametrize("kind", WORDS)
def test_every_kind_for_people_has_words(kind: EventType) -> None:
    data = {**PAUSED, "cause": "by_hand"}
    assert "Spring" in WORDS[kind](data).headline
