"""F95, F97: killed in the first part of a run, in the wait after it, and at the judgement, which
may choose a variant for the rest."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns import control, tasks
from campaigns.canary.first_part import FirstPart
from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.planning import campaign_variants
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Recipient
from campaigns.runs.variants.group import REST
from notifications.task_queue import enqueue_on_commit
from tests.chaos.evidence import gather
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.chaos.stage import POOL
from tests.given.builders import make_campaign, make_template

TITLES = {0: "Text A", 1: "Text B"}
WAIT = 30  # seconds; longer than two workers take to start
FIRST: dict[str, Any] = {
    "first_percent": 25,
    "first_least": 500,
    "first_wait_seconds": WAIT,
    "first_least_received": 0,
}
# It dies at every judgement, until somebody replaces it.
AT_JUDGEMENT = {"control": {"CARILLON_FAILPOINT": "first_judged:kill"}}


@fault(
    "F95",
    "killed in a first part, its wait, its judgement",
    people=6_000,
    different=AT_JUDGEMENT,
)
def killed_around_a_first_part(scene: Scene) -> None:
    """Nobody of the rest is rung before it may go, and each has one row."""
    run = scene.launch(**FIRST)
    scene.until(0.05)
    _bulk_dies(scene)
    scene.wait("all of the first part is sent to", lambda: _part(scene).sent_at, seconds=60)
    _nobody_of_the_rest(scene)
    for name in ("control", "beat"):
        scene.worker(name).kill()
        scene.start(name)
    before = scene.kills
    scene.wait("the judgement kills", lambda: scene.kills > before, seconds=60)
    _nobody_of_the_rest(scene)
    assert _part(scene).went_on_at is None, "it died before the commit, and went on all the same"
    _control_dies_no_more(scene)
    scene.healed()
    scene.finish()
    _went_on_after_the_wait(scene)
    assert run.planned == 6_000, f"{run.planned} are in the snapshot"


@fault(
    "F97",
    "killed while a variant is tried, and as it is chosen",
    people=4_000,
    different=AT_JUDGEMENT,
)
def killed_around_a_choice(scene: Scene) -> None:
    """The rest reads the text that was opened more, and whoever tried one reads no other."""
    campaign = make_campaign(
        scene.project,
        template={"title": TITLES[0], "body": "x"},
        on_unknown=scene.fault.on_unknown,
        winner_by="opened",
        **FIRST,
    )
    campaign_variants.choose(
        campaign, [(make_template(scene.project, title=TITLES[1], body="x"), 50)]
    )
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    scene.adopt(run)
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    scene.until(0.05)
    _bulk_dies(scene)
    scene.wait("all of the first part is sent to", lambda: _part(scene).sent_at, seconds=60)
    _open(run.pk, {0: 20, 1: 60})
    before = scene.kills
    scene.wait("the judgement kills", lambda: scene.kills > before, seconds=60 + WAIT)
    run.refresh_from_db()
    assert run.winner is None, "it died before the commit, and chose all the same"
    _nobody_of_the_rest(scene)
    _control_dies_no_more(scene)
    scene.healed()
    scene.finish()
    run.refresh_from_db()
    assert run.winner == 1, f"variant {run.winner} was chosen"
    _each_read_their_text(scene, {**TITLES, REST: TITLES[1]})


def _open(run: int, counts: dict[int, int]) -> None:
    for number, count in counts.items():
        rows = Recipient.objects.filter(run_id=run, variant=number).order_by("seq")
        keep([Report(run, row.seq, Event.OPENED, None) for row in rows[:count]])


def _each_read_their_text(scene: Scene, titles: dict[int, str]) -> None:
    scene.stage.fcm.witness()
    group = dict(Recipient.objects.filter(run_id=scene.run.pk).values_list("seq", "variant"))
    assert {*group.values()} == {*titles}, Counter(group.values())
    read = [
        (int(str(record["id"]).partition(":")[2]), record["title"])
        for record in scene.stage.fcm.everything_witnessed()
        if str(record["id"]).startswith(f"{scene.run.pk}:")
    ]
    wrong = [seq for seq, title in read if title != titles[group[seq] or 0]]
    assert not wrong, f"{len(wrong)} read another text than their group's"


def _bulk_dies(scene: Scene) -> None:
    scene.worker("bulk").kill()
    scene.killed += POOL
    scene.start("bulk")


def _control_dies_no_more(scene: Scene) -> None:
    different = dict(scene.fault.different["control"])
    del different["CARILLON_FAILPOINT"]
    scene.stage.workers.pop("control").leave()
    scene.stage.start_worker("control", different)


def _part(scene: Scene) -> FirstPart:
    return FirstPart.objects.select_related("run").get(run=scene.run)


def _rest(scene: Scene) -> set[int]:
    chunks = Chunk.objects.filter(run=scene.run.pk, follows=True)
    return {seq for chunk in chunks for seq in range(chunk.first_seq, chunk.last_seq + 1)}


def _nobody_of_the_rest(scene: Scene) -> None:
    """As the witness saw it."""
    rung = gather(scene).received.keys() & _rest(scene)
    assert not rung, f"{len(rung)} of the rest were rung before it was judged"


def _went_on_after_the_wait(scene: Scene) -> None:
    part = _part(scene)
    assert part.sent_at is not None and part.went_on_at is not None, "nobody decided"
    waited = part.went_on_at - part.sent_at
    assert waited >= timedelta(seconds=WAIT), f"it waited {waited.total_seconds():.1f} s"
    first: list[datetime] = [
        min(times) for seq, times in gather(scene).received.items() if seq in _rest(scene)
    ]
    assert len(first) == len(_rest(scene)), f"{len(first)} of {len(_rest(scene))} were rung"
    assert min(first) >= part.went_on_at, "one of the rest was rung before it was let go"
