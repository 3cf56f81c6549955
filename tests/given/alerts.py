"""What is wrong, made so; and a look at it, as beat's tick takes one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns.alerts.evaluation import evaluate_alerts
from campaigns.alerts.models import Alert, Kind
from campaigns.runs.chunk import Chunk
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from notifications.people.project import Project
from notifications.webhooks.call import Call
from notifications.webhooks.outbox import Outgoing
from tests.given.builders import make_run


def look(now: datetime | None = None) -> bool:
    now = now or timezone.now()
    if not Tick.objects.exists():
        Tick.record(now)
    return evaluate_alerts(now)


def look_again(now: datetime | None = None) -> None:
    """Although the last look was not a minute ago."""
    Tick.objects.update(judged_at=None)
    look(now)


def make_alert(project: Project, *, run: Run | None = None, **values: Any) -> Alert:
    """Of the quota, or of a paused run."""
    now = timezone.now() - timedelta(minutes=10)
    kind = Kind.QUOTA
    numbers: dict[str, Any] = {"used": 570_000, "quota": 600_000}
    if run is not None:
        kind = Kind.PAUSED
        detail = {"code": "", "args": None, "text": ""}
        numbers = {"cause": "bad_credentials", "detail": detail}
    given = {"kind": kind, "numbers": numbers, "raised_at": now, "held_at": now} | values
    return Alert.objects.create(project=project, run=run, **given)


def worked_on(run: Run) -> Run:
    """Whatever else is wrong with it, for a day it is not stuck."""
    until = timezone.now() + timedelta(days=1)
    run.chunks.update(state=Chunk.State.LEASED, lease_until=until)
    return run


def paused_by_itself(project: Project, **values: Any) -> Run:
    run = worked_on(make_run(project, **values))
    run.pause(Cause.BAD_CREDENTIALS)
    return run


def change(run: Run, **values: Any) -> Run:
    Run.every.filter(pk=run.pk).update(**values)
    run.refresh_from_db()
    return run


def ended_with(project: Project, *, accepted: int, rejected: int = 0, **values: Any) -> Run:
    """A run of so many, which began two hours ago."""
    began = timezone.now() - timedelta(hours=2)
    run = make_run(project, advanced=False, name=values.pop("name", "Spring"))
    ended = {
        "state": Run.State.FINISHED, "planned": accepted + rejected, "accepted": accepted,
        "rejected": rejected, "started_at": began, "finished_at": began + timedelta(minutes=5),
    }  # fmt: skip
    return change(run, **ended | values)


def told() -> list[dict[str, Any]]:
    """What endpoints hear of alerts, in order, sent or not."""
    calls = [event for call in Call.objects.order_by("pk") for event in call.events]
    rows = [event for row in Outgoing.objects.order_by("pk") for event in row.events]
    return [event for event in [*calls, *rows] if event["type"].startswith("alert.")]
