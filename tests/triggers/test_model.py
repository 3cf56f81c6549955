"""Windows, delays and “unless”, held against a model of a few lines."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from campaigns.runs.messages.message import Message
from campaigns.triggers import deciding
from campaigns.triggers.automation import Automation
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from tests.given.builders import make_automation, make_contact
from tests.triggers.doing import decisions

pytestmark = pytest.mark.django_db
WHO = ("ada", "bob")
MINUTES = some.integers(0, 50)
STEPS = some.lists(
    some.one_of(
        some.tuples(some.just("did"), some.sampled_from(WHO), MINUTES),
        some.tuples(some.just("bought"), some.sampled_from(WHO), MINUTES),
        some.tuples(some.just("decide"), some.just(""), some.integers(0, 200)),
    ),
    max_size=25,
)


class Model:
    """What an automation promises, one trigger after the other."""

    def __init__(self, delay: timedelta, window: timedelta, unless: bool) -> None:
        self.delay, self.window, self.unless = delay, window, unless
        self.waiting: list[tuple[datetime, int, str, datetime]] = []
        self.bought: list[tuple[str, datetime]] = []
        self.last: dict[str, datetime] = {}
        self.decided: Counter[str] = Counter()

    def did(self, who: str, at: datetime) -> None:
        number = len(self.waiting) + self.decided.total()
        self.waiting.append((at + self.delay, number, who, at))

    def decide(self, now: datetime) -> None:
        due = sorted(one for one in self.waiting if one[0] <= now)
        self.waiting = [one for one in self.waiting if one not in due]
        for _due_at, _number, who, at in due:
            self.decided[self._answer(who, at, now)] += 1

    def _answer(self, who: str, at: datetime, now: datetime) -> str:
        if self.unless and any(by == who and at <= when <= now for by, when in self.bought):
            return "unless_came"
        if self.window and who in self.last and self.last[who] > now - self.window:
            return "within_window"
        self.last[who] = now
        return "sent"

    def counts(self) -> Counter[str]:
        return self.decided + Counter(waiting=len(self.waiting))


@given(
    steps=STEPS,
    delay=some.sampled_from([0, 1_200, 7_200]),
    window=some.sampled_from([0, 1_800, 36_000]),
    unless=some.booleans(),
    parts=some.sampled_from([2, 500]),
)
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_decisions_are_those_of_the_model(
    project: Project, steps: list[Any], delay: int, window: int, unless: bool, parts: int
) -> None:
    automation = one_alone(project, delay, window, unless)
    model = Model(automation.delay, automation.window, unless)
    began = now = timezone.now()
    at_once = deciding.AT_ONCE
    deciding.AT_ONCE = parts
    try:
        for deed, who, minutes in steps:
            if deed == "decide":
                now += timedelta(minutes=minutes)
                while deciding.decide(now).triggers:
                    pass
                model.decide(now)
                continue
            at = began - timedelta(minutes=minutes)
            if deed == "did":
                write(project.pk, [Event(who, "added_to_cart", at)])
                model.did(who, at)
            else:
                write(project.pk, [Event(who, "bought", at)])
                model.bought.append((who, at))
    finally:
        deciding.AT_ONCE = at_once
    assert decisions(automation) == model.counts()
    assert Message.objects.count() == model.decided["sent"]


def one_alone(project: Project, delay: int, window: int, unless: bool) -> Automation:
    """Nothing has happened yet."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM notifications_event")
    Message.objects.all().delete()
    project.automation_set.all().delete()
    project.contact_set.all().delete()
    for who in WHO:
        make_contact(project, external_id=who)
    return make_automation(
        project,
        delay_seconds=delay,
        once_in_seconds=window,
        unless_name="bought" if unless else "",
    )
