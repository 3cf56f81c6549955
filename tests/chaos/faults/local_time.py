"""F101: workers killed and Redis emptied while half of the people wait for their own time.
F101p: two pauses, of which the first is too long for them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns import control
from campaigns.runs.ledger import Delivery, Recipient
from notifications.people.contact import Contact
from tests.chaos.fault import fault
from tests.chaos.faults.quiet_hours import FAR, HERE, rung
from tests.chaos.scene import Scene
from tests.given.forgetting import flush_all

AHEAD = timedelta(seconds=25)
LATENESS = 5  # seconds


@fault(
    "F101",
    "workers killed and Redis emptied while half of the people wait for their own time",
    people=4_000,
    failpoint="window_opened:kill:0.05",
)
def local_time(scene: Scene) -> None:
    """Nobody is rung before their clock shows the time, whoever takes a chunk over; where it has
    passed they are rung at once, and everybody is in the end."""
    people = Contact.objects.filter(project=scene.project)
    people.update(timezone=FAR)
    half = people.order_by("pk").values("pk")[: scene.fault.people // 2]
    people.filter(pk__in=half).update(timezone=HERE)
    at = (datetime.now(UTC) + AHEAD).replace(microsecond=0)
    by_the_clock: dict[str, Any] = {
        "schedule_kind": "at",
        "at": at,
        "timezone": "UTC",
        "local_time": True,
    }
    run = scene.launch(rate_per_second=500, passed="now", **by_the_clock)
    scene.until(0.25)
    assert timezone.now() < at, "there was too little time to be tried"
    flush_all()
    scene.until_killed()
    scene.healed()
    scene.finish()
    waited = set(
        Recipient.objects.filter(run_id=run.pk, timezone=HERE).values_list("seq", flat=True)
    )
    assert len(waited) == len(half), f"{len(waited)} of {len(half)} waited"
    early = [seq for seq, when in rung(scene) if seq in waited and when < at]
    assert not early, f"{len(early)} were rung before their time"
    assert waited <= {seq for seq, _ in rung(scene)}, "not everybody was rung at their time"


@fault("F101p", "two pauses, the first too long for whoever's time came in it", people=600)
def two_pauses(scene: Scene) -> None:
    """Nobody whose time came in the first is rung after the second."""
    people = Contact.objects.filter(project=scene.project)
    people.update(timezone=FAR)
    half = list(people.order_by("pk").values_list("pk", flat=True)[: scene.fault.people // 2])
    people.filter(pk__in=half).update(timezone=HERE)
    at = (datetime.now(UTC) + AHEAD).replace(microsecond=0)
    by_the_clock: dict[str, Any] = {
        "schedule_kind": "at",
        "at": at,
        "timezone": "UTC",
        "local_time": True,
        "max_lateness_seconds": LATENESS,
    }
    run = scene.launch(passed="now", **by_the_clock)
    scene.until(0.5)
    control.pause(run, by="user:alice")
    assert timezone.now() < at, "there was too little time to be tried"
    too_late = at + timedelta(seconds=LATENESS + 2)
    scene.wait("it is too late for them", lambda: timezone.now() > too_late, seconds=60)
    for pause in (False, True, False):
        run.refresh_from_db()
        (control.pause if pause else control.resume)(run, by="user:alice")
    scene.finish()
    late = Delivery.objects.filter(run_id=run.pk, status="skipped", reason="local_time").count()
    assert late == len(half), f"{late} of {len(half)} are too late"
