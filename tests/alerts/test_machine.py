"""Stories of pauses, hours, people and ticks in any order, and a clerk who says what is heard."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import control
from campaigns.alerts.models import Alert, open_alerts
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.webhooks.event_types import OFFERED
from tests.given.alerts import look, told, worked_on
from tests.given.builders import make_people, make_run
from tests.given.endpoints import make_endpoint

pytestmark = pytest.mark.django_db
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
STEPS = st.one_of(
    st.sampled_from(["pause", "resume", "see", "undo", "tick", "two ticks"]),
    st.integers(min_value=1, max_value=150).map(lambda minutes: f"{minutes} min"),
)


class Undone(Exception):
    """Each story begins anew."""


@dataclass
class Clerk:
    """Knows the rules from the product's promise, and nothing of how they are kept."""

    now: datetime
    paused: bool = False
    stands: bool = False
    seen: bool = False
    told_at: datetime | None = None
    looked_at: datetime | None = None
    heard: list[tuple[str, bool]] = field(default_factory=list)

    def tick(self) -> None:
        if self.looked_at and self.now - self.looked_at < MINUTE:
            return
        self.looked_at = self.now
        if self.paused and not self.stands:
            self.stands, self.seen, self.told_at = True, False, self.now
            self.heard.append(("alert.raised", False))
        elif self.stands and not self.paused:
            self.stands = False
            self.heard.append(("alert.ended", False))
        elif self.stands and not self.seen and self.told_at and self.now - self.told_at >= HOUR:
            self.told_at = self.now
            self.heard.append(("alert.raised", True))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=25))
def test_each_story_is_told_as_the_clerk_says(project: Project, steps: list[str]) -> None:
    with pytest.raises(Undone), transaction.atomic():
        make_people(project, 1)
        make_endpoint(project, "https://hooks.example.com/", kinds=list(OFFERED))
        run, clerk = worked_on(make_run(project)), Clerk(timezone.now())
        for step in steps:
            do(step, run, clerk)
            assert open_alerts().count() == clerk.stands
        heard = [(event["type"], event["data"]["reminder"]) for event in told()]
        assert heard == clerk.heard
        assert Alert.objects.count() == clerk.heard.count(("alert.raised", False))
        raise Undone


def do(step: str, run: Run, clerk: Clerk) -> None:
    alert = open_alerts().first()
    match step.split():
        case ["pause"] if not clerk.paused:
            run.pause(Cause.BAD_CREDENTIALS)
            clerk.paused = True
        case ["resume"] if clerk.paused:
            control.resume(run, by="user:ada")
            clerk.paused = False
        case ["see"] if alert:
            entries = AuditEntry.objects.count()
            alert.acknowledge(by="user:ada")
            assert AuditEntry.objects.count() - entries == (not clerk.seen)
            clerk.seen = True
        case ["undo"] if alert:
            entries = AuditEntry.objects.count()
            alert.undo_acknowledgement(by="user:ada")
            assert AuditEntry.objects.count() - entries == clerk.seen
            clerk.seen = False
        case ["tick"]:
            look(clerk.now)
            clerk.tick()
        case ["two", "ticks"]:
            look(clerk.now)
            look(clerk.now)
            clerk.tick()
        case [minutes, "min"]:
            clerk.now += int(minutes) * MINUTE
