"""F107i: the text is changed while some wait for another try, and workers are killed.

F107c: two corrections at once replace what people find in their inbox, and workers are killed.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.utils import timezone

from campaigns import control, tasks
from campaigns.audiences.lists import filling
from campaigns.corrections import draft_correction
from campaigns.corrections.change_running_text import NewText
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from campaigns.texts.template import Template
from notifications.inbox.item import InboxItem
from notifications.people.device import Device
from notifications.task_queue import enqueue_on_commit
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


@fault(
    "F107c",
    "two corrections replace inbox items, and workers killed",
    people=2_000,
    failpoint="before_settle:kill:0.06",
    patience=90,
)
def correction(scene: Scene) -> None:
    """Each person has one item, with the text of the later correction. The wrong item is gone from
    every inbox, also for people whose phone cannot be reached."""
    lost = scene.devices[::SOME]
    for device in lost:
        device.address = f"dead-{device.pk}:{scene.project.pk}"
    Device.objects.bulk_update(lost, ["address"])
    wrong = scene.launch(inbox=True)
    scene.finish()
    older, later = _correct(wrong, "Almost", rate_per_second=500), _correct(wrong, NEW)
    _begin(scene, older)
    scene.until(0.1)
    control.pause(older, by="user:alice")
    _begin(scene, later)
    scene.until_killed()
    scene.healed()
    scene.finish()
    control.resume(older, by="user:alice")
    _begin(scene, older)
    scene.finish()
    items = InboxItem.objects.filter(project=scene.project)
    counts = items.values("contact").annotate(count=Count("pk")).values_list("count", flat=True)
    assert set(items.values_list("text__content__title", flat=True)) == {NEW}, "a wrong text stays"
    reachable = scene.fault.people - len(lost)
    assert len(counts) == reachable and set(counts) == {1}, "not one item for each person"


def _begin(scene: Scene, run: Run) -> None:
    scene.adopt(run)
    enqueue_on_commit(tasks.advance, run_id=run.pk)


def _correct(wrong: Run, title: str, **settings: Any) -> Run:
    draft = draft_correction.draft(wrong, text=draft_correction.EVERY, by="user:alice")
    while not filling.at_once(draft.audience):
        pass
    Template.objects.filter(pk=draft.template_id).update(title=title)
    Campaign.objects.filter(pk=draft.pk).update(**settings)
    return control.launch(Campaign.objects.get(pk=draft.pk), by="user:alice", now=timezone.now())
