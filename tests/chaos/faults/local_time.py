"""F101: workers killed and Redis emptied while half of the people wait for their own time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns.runs.ledger import Recipient
from notifications.people.contact import Contact
from tests.chaos.fault import fault
from tests.chaos.faults.quiet_hours import FAR, HERE, rung
from tests.chaos.scene import Scene
from tests.given.forgetting import flush_all

AHEAD = timedelta(seconds=25)


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
