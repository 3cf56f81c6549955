"""F85: workers are killed in the middle of a rehearsal. Everybody has one row, and nobody rings."""

from __future__ import annotations

from django.utils import timezone

from campaigns import tasks
from campaigns.rehearsals import actions
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.run import Run
from notifications.task_queue import enqueue_on_commit
from tests.chaos.fault import fault
from tests.chaos.scene import Scene, query
from tests.given.builders import make_campaign


@fault(
    "F85",
    "bulk worker killed in the middle of a rehearsal",
    people=8_000,
    failpoint="mid_send:kill:0.08",
    ends="",
)
def killed(scene: Scene) -> None:
    campaign = make_campaign(scene.project)
    rehearsal = actions.start(
        campaign, sample=None, retires=False, by="user:alice", now=timezone.now()
    )
    scene.adopt(rehearsal.run)
    enqueue_on_commit(tasks.advance, run_id=rehearsal.pk)
    scene.until_killed()
    scene.renew("bulk")
    scene.healed()
    scene.finish()
    _judge(scene)


def _judge(scene: Scene) -> None:
    """The judge of runs counts what phones received; here that is nothing."""
    run = Run.kept.get(pk=scene.run.pk)
    rung = scene.stage.fcm.everything_witnessed()
    assert not rung, f"{len(rung)} phones rang, of a rehearsal"
    assert run.state == Run.State.FINISHED, f"it is {run.state}: {run.detail}"
    rows = [seq for (seq,) in query("SELECT seq FROM campaigns_delivery WHERE run_id = %s", run.pk)]
    assert len(rows) == len(set(rows)), "somebody has two rows"
    assert set(rows) == set(range(1, len(scene.devices) + 1)), "somebody has no row"
    assert sums.totals_of(run) == reports.recount(run), "the sums are not those of the rows"
    asked = scene.stage.fcm.counts()["validated"]
    assert asked >= run.accepted, f"{run.accepted} are accepted, {asked} were checked"
