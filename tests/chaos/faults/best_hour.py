"""F104: workers killed and Redis emptied while people wait for the hour in which they read most."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns import control
from campaigns.runs import best_hour
from campaigns.runs.ledger import Delivery, Recipient
from notifications.people.contact import Contact
from tests.chaos.fault import fault
from tests.chaos.faults.quiet_hours import rung
from tests.chaos.scene import Scene
from tests.given.forgetting import flush_all

AHEAD = timedelta(seconds=25)
HERE, PASSED, TO_COME = 6, 5, 12  # it is past six where they are


@fault(
    "F104",
    "workers killed and Redis emptied while people wait for their best hour",
    people=4_500,
    failpoint="window_opened:kill:0.08",
    ends="cancelled",
)
def waiting_for_best_hour(scene: Scene) -> None:
    """Whose hour has passed is rung at once, who has none by the schedule, and whose hour is to
    come is not rung before, whoever takes a chunk over."""
    zone, people = _zone(), Contact.objects.filter(project=scene.project)
    people.update(timezone=zone)
    everybody = [*people.order_by("pk").values_list("pk", flat=True)]
    _read_at(PASSED, everybody[::3], zone)
    _read_at(TO_COME, everybody[1::3], zone)
    at = (datetime.now(UTC) + AHEAD).replace(microsecond=0)
    by_the_clock: dict[str, Any] = {"schedule_kind": "at", "at": at, "timezone": zone}
    scene.launch(rate_per_second=500, passed="now", local_time=True, best_hour=True, **by_the_clock)
    scene.until(0.25)
    assert timezone.now() < at, "there was too little time to be tried"
    flush_all()
    scene.until_killed()
    scene.healed()
    hours = _hours(scene)
    due = {seq for seq, hour in hours.items() if hour != TO_COME}
    scene.wait("all whose time has come are settled", lambda: due <= _settled(scene), seconds=90)
    control.cancel(scene.run, by="user:alice")
    scene.finish()
    arrived = rung(scene)
    early = [seq for seq, when in arrived if hours[seq] is None and when < at]
    assert not early, f"{len(early)} were rung before the schedule's time"
    before = [seq for seq, _ in arrived if hours[seq] == TO_COME]
    assert not before, f"{len(before)} were rung before their hour"
    assert due <= {seq for seq, _ in arrived}, "not everybody was rung whose time had come"


def _hours(scene: Scene) -> dict[int, int | None]:
    """The best hour of each, as it was when they were chosen."""
    rows = Recipient.objects.filter(run_id=scene.run.pk).values_list("seq", "best_hour")
    hours = dict(rows)
    counts = Counter(hours.values())
    assert set(counts.values()) == {scene.fault.people // 3}, counts
    return hours


def _settled(scene: Scene) -> set[int]:
    return {*Delivery.objects.filter(run_id=scene.run.pk).values_list("seq", flat=True)}


def _zone() -> str:
    """Where it is past six. Its name has the sign the other way round."""
    ahead = (HERE - datetime.now(UTC).hour + 11) % 24 - 11
    return f"Etc/GMT{-ahead:+d}"


def _read_at(hour: int, people: list[int], zone: str) -> None:
    """On three mornings."""
    today = datetime.now(UTC).replace(hour=12)
    offset = timedelta(hours=int(zone.removeprefix("Etc/GMT")))
    times = [today.replace(hour=hour) + offset - timedelta(days=days) for days in (2, 3, 4)]
    best_hour.keep((person, zone, at) for person in people for at in times)
