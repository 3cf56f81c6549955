"""F96: workers killed while people read different texts, and some are to read none."""

from __future__ import annotations

from collections import Counter

from django.utils import timezone

from campaigns import control, tasks
from campaigns.planning.variants import variant
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.variants.group import CONTROL
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.builders import make_campaign, make_template

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
    variant.choose(campaign, [(template, 50) for template in others])
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    scene.adopt(run)
    tasks.ring(run.pk)
    scene.until_killed()
    scene.healed()
    scene.finish()
    scene.stage.fcm.witness()
    group = dict(Recipient.objects.filter(run_id=run.pk).values_list("seq", "variant"))
    read = [
        (int(str(record["id"]).partition(":")[2]), record["title"])
        for record in scene.stage.fcm.everything_witnessed()
        if str(record["id"]).startswith(f"{run.pk}:")
    ]
    assert {*group.values()} == {0, 1, 2, CONTROL}, Counter(group.values())
    rung = [seq for seq, _ in read if group[seq] == CONTROL]
    assert not rung, f"{len(rung)} of the control group were rung"
    wrong = [seq for seq, title in read if title != TITLES.get(group[seq] or 0)]
    assert not wrong, f"{len(wrong)} read another text than their group's"
    left_out = Delivery.objects.filter(run_id=run.pk, reason="control").count()
    assert left_out == Counter(group.values())[CONTROL], f"{left_out} rows of the control group"
