"""F96, F98: workers killed while people read different texts, one of which is changed meanwhile,
and some are to read none."""

from __future__ import annotations

from collections import Counter, defaultdict

from django.utils import timezone

from campaigns import control, tasks
from campaigns.corrections.change_running_text import NewText
from campaigns.planning import campaign_variants
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.variants.group import CONTROL
from notifications.task_queue import enqueue_on_commit
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.builders import make_campaign, make_template

CHANGED = "Text B, put right"
TITLES = {0: "Text A", 1: "Text B", 2: "Text C"}


@fault(
    "F96",
    "workers killed among three texts and a control group",
    people=5_000,
    failpoint="window_opened:kill:0.05",
)
def variants(scene: Scene) -> None:
    """Whoever takes over a dead worker's chunk sends each person the text of their group, and the
    control group is never rung: by what FCM's stand-in received, not by our rows alone."""
    campaign = make_campaign(
        scene.project,
        template={"title": TITLES[0], "body": "x"},
        control_percent=20,
        on_unknown=scene.fault.on_unknown,
        rate_per_second=1_000,
    )
    others = [make_template(scene.project, title=TITLES[n], body="x") for n in (1, 2)]
    campaign_variants.choose(campaign, [(template, 50) for template in others])
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    scene.adopt(run)
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    scene.until_killed()
    scene.healed()
    scene.finish()
    group, read = _groups(scene), _read(scene)
    assert {*group.values()} == {0, 1, 2, CONTROL}, Counter(group.values())
    rung = [seq for seq, _ in read if group[seq] == CONTROL]
    assert not rung, f"{len(rung)} of the control group were rung"
    wrong = [seq for seq, title in read if title != TITLES.get(group[seq] or 0)]
    assert not wrong, f"{len(wrong)} read another text than their group's"
    left_out = Delivery.objects.filter(run_id=run.pk, reason="control").count()
    assert left_out == Counter(group.values())[CONTROL], f"{left_out} rows of the control group"


@fault(
    "F98",
    "the text of one variant changed while workers are killed",
    people=5_000,
    failpoint="window_opened:kill:0.05",
)
def one_changed(scene: Scene) -> None:
    """Nobody of the others reads it, nobody of its readers gets the old one after the new, and each
    row names the text that left."""
    campaign = make_campaign(
        scene.project,
        template={"title": TITLES[0], "body": "x"},
        on_unknown=scene.fault.on_unknown,
        rate_per_second=1_000,
    )
    campaign_variants.choose(
        campaign, [(make_template(scene.project, title=TITLES[1], body="x"), 50)]
    )
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    scene.adopt(run)
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    scene.until(0.3)
    run.refresh_from_db()
    new = NewText(1, {}, others={1: {"title": CHANGED}})
    control.change_text(run, new=new, by="user:alice")
    scene.until_killed()
    scene.healed()
    scene.finish()
    group, titles = _groups(scene), defaultdict(list)
    for seq, title in _read(scene):
        titles[seq].append(title)
    allowed = {0: [{TITLES[0]}], 1: [{TITLES[1]}, {CHANGED}, {TITLES[1], CHANGED}]}
    wrong = [seq for seq, each in titles.items() if {*each} not in allowed[group[seq] or 0]]
    assert not wrong, f"{len(wrong)} read another text than their group's"
    said = {(0, 1): TITLES[0], (0, 2): TITLES[0], (1, 1): TITLES[1], (1, 2): CHANGED}
    rows = Delivery.objects.filter(run_id=run.pk, status="accepted", resent=False)
    named = dict(rows.values_list("seq", "revision"))
    assert {(group[seq], revision) for seq, revision in named.items()} == {*said}, "not all kinds"
    untrue = [seq for seq, n in named.items() if titles[seq] != [said[group[seq] or 0, n]]]
    assert not untrue, f"{len(untrue)} rows name another text than what left"


def _groups(scene: Scene) -> dict[int, int | None]:
    rows = Recipient.objects.filter(run_id=scene.run.pk)
    return dict(rows.values_list("seq", "variant"))


def _read(scene: Scene) -> list[tuple[int, str]]:
    """What arrived of this run, in its order."""
    scene.stage.fcm.witness()
    return [
        (int(str(record["id"]).partition(":")[2]), record["title"])
        for record in scene.stage.fcm.everything_witnessed()
        if str(record["id"]).startswith(f"{scene.run.pk}:")
    ]
