"""F99: workers killed and Redis emptied while half of the people have quiet hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.utils import timezone

from campaigns.runs.ledger import Recipient
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.forgetting import flush_all

HERE, FAR = "Etc/UTC", "Etc/GMT-12"  # when it is night here, it is noon there
NIGHT = timedelta(seconds=25)  # what is left of it


@fault(
    "F99",
    "workers killed and Redis emptied while half of the people sleep",
    people=4_000,
    failpoint="window_opened:kill:0.05",
)
def quiet_hours(scene: Scene) -> None:
    """Nobody is rung while their quiet hours are on, whoever takes a chunk over; and everybody once
    these end: by what FCM's stand-in received, and when."""
    people = Contact.objects.filter(project=scene.project)
    people.update(timezone=FAR)
    half = people.order_by("pk").values("pk")[: scene.fault.people // 2]
    people.filter(pk__in=half).update(timezone=HERE)
    wakes_at = (datetime.now(UTC) + NIGHT).replace(microsecond=0)
    begins = (wakes_at - timedelta(hours=6)).time()
    Project.objects.filter(pk=scene.project.pk).update(
        quiet_from=begins, quiet_until=wakes_at.time()
    )
    scene.project.refresh_from_db()
    run = scene.launch(rate_per_second=500)
    scene.until(0.25)
    assert timezone.now() < wakes_at, "the night was too short to be tried"
    flush_all()
    scene.until_killed()
    scene.healed()
    scene.finish()
    asleep = set(
        Recipient.objects.filter(run_id=run.pk, timezone=HERE).values_list("seq", flat=True)
    )
    assert len(asleep) == len(half), f"{len(asleep)} of {len(half)} slept"
    arrived = rung(scene)
    early = [seq for seq, at in arrived if seq in asleep and at < wakes_at]
    assert not early, f"{len(early)} were rung in their quiet hours"
    assert asleep <= {seq for seq, _ in arrived}, "not everybody was rung in the morning"


def rung(scene: Scene) -> list[tuple[int, datetime]]:
    """What arrived of this run, and when."""
    scene.stage.fcm.witness()
    return [
        (int(str(record["id"]).partition(":")[2]), datetime.fromtimestamp(record["at"], UTC))
        for record in scene.stage.fcm.everything_witnessed()
        if str(record["id"]).startswith(f"{scene.run.pk}:")
    ]
