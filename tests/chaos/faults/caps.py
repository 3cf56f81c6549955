"""F100: workers killed and Redis emptied while three runs meet at the same people, one a day.
F100m: messages to people for whom a place is kept.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

from django.utils import timezone

from campaigns import control, tasks
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit
from tests.chaos.fault import fault
from tests.chaos.faults.messages import CREW, Post, finish_day, kill_while_it_takes
from tests.chaos.scene import Scene
from tests.given.builders import make_campaign
from tests.given.forgetting import flush_all

OTHERS = 2


@fault(
    "F100",
    "workers killed and Redis emptied while three runs meet at people with a cap of one a day",
    people=4_000,
    failpoint="window_opened:kill:0.05",
)
def caps(scene: Scene) -> None:
    """Nobody is rung by two of them, and everybody by one: by what FCM's stand-in received, and
    whom the rows say it was for."""
    Project.objects.filter(pk=scene.project.pk).update(cap_per_day=1)
    scene.project.refresh_from_db()
    others = [_another(scene) for _ in range(OTHERS)]
    run = scene.launch(rate_per_second=500)
    scene.until(0.25)
    flush_all()
    scene.until_killed()
    scene.healed()
    scene.finish()
    runs = [run.pk, *others]
    scene.wait("all three have ended", lambda: _have_ended(runs), seconds=60)
    rung = rung_by(scene, runs)
    twice = [person for person, by in rung.items() if len(by) > 1]
    assert not twice, f"{len(twice)} were rung by more than one"
    got_one = _people_of(runs, ("accepted", "unknown"))
    assert len(got_one) == scene.fault.people, f"{len(got_one)} of {scene.fault.people} got one"


@fault(
    "F100m",
    "messages to people for whom a campaign keeps a place, by a slow worker that is killed",
    people=300,
    workers=("bulk", *CREW),
    different={"urgent": {"CHAOS_PLANTED": "slow windows"}},
    patience=90,
)
def messages_beside_places(scene: Scene) -> None:
    """All of them leave, however long the worker is at it."""
    Project.objects.filter(pk=scene.project.pk).update(cap_per_day=1)
    scene.project.refresh_from_db()
    at = timezone.now() + timedelta(hours=20)
    planned = make_campaign(scene.project, precedence="high", schedule_kind="at", at=at)
    control.launch(planned, by="user:alice", now=timezone.now())
    lower = scene.launch()
    scene.finish()
    assert lower.skipped == scene.fault.people, f"{lower.skipped} leave their place to the other"
    scene.stage.end_worker("urgent")
    post = Post(scene)
    with post.under_way():
        pass
    scene.start("urgent")
    kill_while_it_takes(scene)
    scene.healed()
    finish_day(scene, post)
    got_it = scene.run.accepted + scene.run.unknown
    assert got_it == scene.fault.people, f"{got_it} of {scene.fault.people} messages left"


def _another(scene: Scene) -> int:
    campaign = make_campaign(scene.project, rate_per_second=500)
    other = control.launch(campaign, by="user:alice", now=timezone.now())
    enqueue_on_commit(tasks.advance, run_id=other.pk)
    return other.pk


def _have_ended(runs: list[int]) -> bool:
    return not Run.objects.filter(pk__in=runs, finished_at=None).exists()


def rung_by(scene: Scene, runs: list[int]) -> dict[int, set[int]]:
    """Each person, and the runs of which a phone of theirs received something."""
    scene.stage.fcm.witness()
    rows = Recipient.objects.filter(run_id__in=runs)
    numbered = rows.values_list("run_id", "seq", "contact_id")
    whose = {(run, seq): person for run, seq, person in numbered}
    found: dict[int, set[int]] = defaultdict(set)
    for record in scene.stage.fcm.everything_witnessed():
        run, _, seq = str(record["id"]).partition(":")
        if run.isdigit() and (int(run), int(seq)) in whose:
            found[whose[int(run), int(seq)]].add(int(run))
    return found


def _people_of(runs: list[int], statuses: tuple[str, ...]) -> set[int]:
    ended = Delivery.objects.filter(run_id__in=runs, status__in=statuses)
    keys = set(ended.values_list("run_id", "seq"))
    people = Recipient.objects.filter(run_id__in=runs).values_list("run_id", "seq", "contact_id")
    return {person for run, seq, person in people if (run, seq) in keys}
