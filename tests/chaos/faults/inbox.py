"""F107i: the text is changed while some wait for another try, and workers are killed."""

from __future__ import annotations

from campaigns import control
from campaigns.planning.new_text.changing import NewText
from campaigns.runs.ledger import Delivery, Recipient
from notifications.inbox.item import InboxItem
from notifications.people.device import Device
from tests.chaos.fault import fault
from tests.chaos.scene import Scene

NEW = "Changed"
SOME = 20  # one of so many is refused at first


@fault(
    "F107i",
    "a text changed while some wait for another try, and workers killed",
    people=2_000,
    failpoint="before_settle:kill:0.05",
    patience=90,
)
def changed_text(scene: Scene) -> None:
    """Each person finds in their inbox what left for their phone last."""
    refused = scene.devices[::SOME]
    for device in refused:
        device.address = f"flaky-{device.pk}:{scene.project.pk}"
    Device.objects.bulk_update(refused, ["address"])
    run = scene.launch(inbox=True, rate_per_second=200)
    scene.until(0.3)
    run.refresh_from_db()
    new = NewText(run.revision, {"title": NEW}, accept_skips=True)
    control.change_text(run, new=new, by="user:alice")
    scene.until_killed()
    scene.healed()
    scene.finish()
    said = dict(Delivery.objects.filter(run_id=run.pk).values_list("seq", "revision"))
    whose = Recipient.objects.filter(run_id=run.pk).values_list("contact_id", "seq")
    read = InboxItem.objects.filter(project=scene.project)
    titles = dict(read.values_list("contact_id", "text__content__title"))
    wrong = [seq for person, seq in whose if (titles.get(person) == NEW) != (said[seq] == 2)]
    assert len(titles) == scene.fault.people, f"{len(titles)} people have an item"
    assert set(said.values()) == {1, 2}, "the text was not changed under way"
    assert not wrong, f"{len(wrong)} find another text than what left for their phone"
