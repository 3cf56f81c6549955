"""The day: three campaigns meet at the same people in thirty time zones, in the night in which
Europe's clocks are set back.

People may be rung from 08:00 to 21:00 where they are, and twice in 24 hours at most. Where they
live goes by their number, so that every zone has its part of everything.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from datetime import time as clock_time
from typing import Any

from django.db import connection
from django.db.models import Min, Q
from django.utils import timezone

from campaigns import control, tasks
from campaigns.forecast.course import Course
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning.campaign import Campaign
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Retry
from campaigns.runs.run import Run
from campaigns.runs.tick import LONG_SILENCE, Tick
from notifications.keys.credentials import ServiceAccount
from notifications.task_queue import enqueue_on_commit
from tests.chaos.stage import Stage
from tests.day.clock import forward
from tests.day.when import (
    A_DAY_TWICE,
    EARLY,
    HOME,
    LATENESS,
    NEWS,
    PAUSED,
    RATE,
    RESUMED,
    SATURDAY,
    TTL,
    ZONES,
)  # fmt: skip
from tests.given.builders import make_audience, make_campaign, make_people, make_project
from tests.given.waiting import eventually
from tests.servers.clock import Clock

STEP = LONG_SILENCE - timedelta(minutes=3)  # longer, and the runs ask whether we were away
PATIENCE = 300.0


@dataclass
class Day:
    stage: Stage
    clock: Clock
    people: int
    campaigns: dict[str, Campaign] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    # What the check told before each began.
    said: dict[str, Course | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project = make_project(
            slug="day", timezone=HOME, cap_per_day=A_DAY_TWICE,
            quiet_from=clock_time(21), quiet_until=clock_time(8),
        )  # fmt: skip
        ServiceAccount.store(self.project, self.stage.fcm.service_account)
        make_people(self.project, self.people)
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE notifications_contact SET timezone = (%s::text[])[1 + id %% %s],"
                """ attributes = jsonb_build_object('first_name', 'Ada', 'pro', id %% 7 < 3)""",
                [ZONES, len(ZONES)],
            )
            cursor.execute("ANALYZE notifications_contact, notifications_device")

    def play(self) -> None:
        self._until(EARLY)
        pro = {"field": "attributes.pro", "op": "eq", "value": True}
        audience = make_audience(self.project, rules={"all": [pro]})
        self._launch("early", audience=audience)
        # It wins: “nine” leaves it a place at whoever may get one more only.
        to_come = {"schedule_kind": "at", "at": NEWS, "timezone": "UTC"}
        self._launch("news", precedence="high", **to_come)
        at = SATURDAY + timedelta(days=1, hours=9)
        self._launch(
            "nine", schedule_kind="at", at=at, timezone="UTC", local_time=True,
            max_lateness_seconds=LATENESS.total_seconds(), rate_per_second=RATE,
        )  # fmt: skip
        self._until(PAUSED)
        control.pause(self._fresh("nine"), by="user:alice")
        self._until(RESUMED)
        control.resume(self._fresh("nine"), by="user:alice")
        enqueue_on_commit(tasks.advance, run_id=self.runs["nine"].pk)
        self._settle()
        self._until(NEWS - timedelta(minutes=1))
        self._ask("news")
        self._until(NEWS)
        while any(self._fresh(name).finished_at is None for name in self.runs):
            self._step(timezone.now() + STEP)

    def _launch(self, name: str, **values: Any) -> None:
        campaign = make_campaign(self.project, name=name, ttl_seconds=TTL.total_seconds(), **values)
        self.campaigns[name] = campaign
        self._ask(name)
        self.runs[name] = control.launch(campaign, by="user:alice", now=timezone.now())
        enqueue_on_commit(tasks.advance, run_id=self.runs[name].pk)
        self._settle()

    def _ask(self, name: str) -> None:
        """What the check tells of it now."""
        self.said[name] = LaunchReport(self.campaigns[name], timezone.now()).course

    def _until(self, moment: datetime) -> None:
        while timezone.now() < moment:
            self._step(moment)

    def _step(self, moment: datetime) -> None:
        """Set the clock forward to what comes next, and wait until nobody has anything to do."""
        forward(self.clock, min([moment, timezone.now() + STEP, *self._due()]))
        now = timezone.now()
        tasks.sweep.delay()  # beat's own may be five seconds away
        eventually(
            "a sweep has been", lambda: Tick.objects.filter(at__gte=now).exists(), seconds=PATIENCE
        )
        self._settle()

    def _due(self) -> list[datetime]:
        now = timezone.now()
        ours = Run.objects.filter(finished_at=None)
        found = [
            Retry.objects.filter(run__in=ours, not_before__gt=now).aggregate(at=Min("not_before")),
            Chunk.objects.filter(run__in=ours, not_before__gt=now).aggregate(at=Min("not_before")),
            ours.filter(state="scheduled", scheduled_at__gt=now).aggregate(at=Min("scheduled_at")),
        ]
        return [one["at"] for one in found if one["at"]]

    def _settle(self) -> None:
        time.sleep(0.3)
        eventually("whoever is due is sent to", self._is_still, seconds=PATIENCE)

    def _is_still(self) -> bool:
        time.sleep(0.2)
        self.stage.tend()
        now = timezone.now()
        going = Run.objects.filter(finished_at=None).exclude(state="paused")
        stuck = Run.objects.filter(state="paused").exclude(cause="by_hand").first()
        assert stuck is None, f"{stuck} asks for a person: {stuck.cause} {stuck.detail}"
        if going.filter(
            Q(state="preparing") | Q(state="scheduled", scheduled_at__lte=now)
        ).exists():
            return False
        working = Q(state__in=("queued", "leased")) | Q(state="waiting", not_before=None)
        chunks = Chunk.objects.filter(run__in=going).filter(
            working | Q(state="waiting", not_before__lte=now)
        )
        due = Retry.objects.filter(run__in=going, not_before__lte=now)
        return not (chunks.exists() or due.exists())

    def _fresh(self, name: str) -> Run:
        self.runs[name].refresh_from_db()
        return self.runs[name]
