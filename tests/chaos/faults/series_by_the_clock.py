"""F106: workers killed and Redis emptied while two runs of one series go around the earth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns import control
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from tests.chaos.fault import fault
from tests.chaos.faults.caps import rung_by
from tests.chaos.faults.quiet_hours import rung
from tests.chaos.scene import Scene
from tests.given.forgetting import flush_all

HERE, FIRST_OF_ALL = "Etc/UTC", "Etc/GMT-14"  # there it is the time of the next one already
AT_LEAST, A_MINUTE = timedelta(seconds=30), timedelta(minutes=1)


@fault(
    "F106",
    "workers killed and Redis emptied while two runs of a series go around the earth",
    people=4_000,
    failpoint="window_opened:kill:0.05",
    ends="cancelled",
)
def series_by_the_clock(scene: Scene) -> None:
    """Each rings those whose clock shows its time, then and not before; nobody is rung by both."""
    people = Contact.objects.filter(project=scene.project)
    people.update(timezone=HERE)
    half = people.order_by("pk").values("pk")[: scene.fault.people // 2]
    ahead = {*half.values_list("pk", flat=True)}
    people.filter(pk__in=ahead).update(timezone=FIRST_OF_ALL)
    at = _whole_minute()
    twice_a_day: dict[str, Any] = {
        "schedule_kind": "recurring",
        "repeat": "cron",
        "cron": f"{at.minute} {at.hour},{(at.hour + 14) % 24} * * *",
        "at": at,
        "timezone": "UTC",
        "local_time": True,
    }
    first = scene.launch(rate_per_second=150, **twice_a_day)
    scene.until_state("sending")
    assert timezone.now() < at, "there was too little time to be tried"
    flush_all()
    scene.wait("it is time", lambda: timezone.now() >= at, seconds=120)
    series = Run.objects.filter(campaign=first.campaign_id)
    both = series.filter(state=Run.State.SENDING)
    scene.wait("both are on their way", lambda: both.count() == 2, seconds=25)
    second = both.exclude(pk=first.pk).get()
    scene.until_killed()
    flush_all()
    scene.healed()
    scene.finish()
    early = [when for _seq, when in rung(scene) if when < at]
    scene.adopt(second)
    theirs = _of(second, ahead)
    scene.wait("the second has rung its own", lambda: theirs <= _settled(second), seconds=60)
    control.cancel(second, by="user:alice")
    scene.finish()
    early += [when for _seq, when in rung(scene) if when < at]
    assert not early, f"{len(early)} were rung before their time"
    by = rung_by(scene, [first.pk, second.pk])
    assert {person for person, runs in by.items() if second.pk in runs} == ahead
    assert all(len(runs) == 1 for runs in by.values()), "somebody was rung by both"
    assert len(by) == scene.fault.people, f"{len(by)} people were rung"


def _whole_minute() -> datetime:
    """Cron knows no seconds."""
    soon = datetime.now(UTC) + AT_LEAST + A_MINUTE
    return soon.replace(second=0, microsecond=0)


def _of(run: Run, people: set[int]) -> set[int]:
    rows = Recipient.objects.filter(run_id=run.pk, contact_id__in=people)
    return {*rows.values_list("seq", flat=True)}


def _settled(run: Run) -> set[int]:
    return {*Delivery.objects.filter(run_id=run.pk).values_list("seq", flat=True)}
