"""The emulator reads for itself: what we let through it takes, what we refuse it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.dispatch import dispatch, gateway_of
from notifications.fcm import options, payload, validation
from notifications.gateway import Outcome, Permit, Push, Verdict
from notifications.people.project import Project
from tests.given.every_option import EVERYTHING

pytestmark = pytest.mark.django_db


def message(number: int, platform: str, **values: Any) -> Push:
    texts = {"title": "안녕 🎉", "body": "There", "collapse_id": "carillon-81"}
    return Push(
        reference=f"81:{number}",
        kind="token",
        address=f"live{number}:APA91b",
        platform=platform,
        **{**texts, **values},
    )


def sent(project: Project, messages: list[Push]) -> list[Outcome]:
    outcomes = dispatch(gateway_of(project), messages, Permit(60)).result(30)
    return sorted(outcomes, key=lambda outcome: outcome.reference)


def test_every_option_alone_and_all_together_are_accepted(project: Project) -> None:
    full = {"image": "https://example.com/a.png", "link": "https://example.com/a",
            "data": {"screen": "home"}, "analytics_label": "spring-12"}  # fmt: skip
    written = [
        (platform, given)
        for platform, every in EVERYTHING.items()
        for given in (every, {}, {"data_only": True}, *({name: every[name]} for name in every))
    ]
    messages = [
        message(number, platform, options=options.parse(platform, given), **full)
        for number, (platform, given) in enumerate(written)
    ]
    outcomes = sent(project, messages)
    assert [o.detail for o in outcomes if o.verdict is not Verdict.ACCEPTED] == []
    assert len(outcomes) == len(written) > 40


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("android", {"options": {"color": "red"}}),
    ("android", {"options": {"notification_count": -1}}),
    ("android", {"data": {"google.x": "1"}}),
    ("android", {"analytics_label": "two words"}),
    ("android", {"body": "é" * 2_100}),
    ("android", {"image": "http://example.com/a.png"}),
    ("ios", {"options": {"badge": "1"}}),
    ("ios", {"options": {"collapse_id": "é" * 33}}),
    ("ios", {"options": {"data_only": True, "priority": 10}}),
    ("ios", {"body": "é" * 2_100}),
    ("web", {"options": {"urgency": "max"}}),
    ("web", {"options": {"topic": "a b"}}),
    ("web", {"link": "https:///nowhere"}),
    ("web", {"body": "é" * 2_100}),
]


def test_what_we_refuse_would_have_been_refused(project: Project) -> None:
    messages = [message(number, platform, **values) for number, (platform, values)
                in enumerate(WRONG, 10)]  # fmt: skip
    for one in messages:
        assert validation.validate(payload.as_fcm(one)), one
    outcomes = sent(project, messages)
    assert [o.verdict for o in outcomes] == [Verdict.BAD_MESSAGE] * len(WRONG), outcomes
