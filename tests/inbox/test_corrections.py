"""A correction takes the place of the wrong item in each inbox that it reaches."""

from __future__ import annotations

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.audiences.lists import filling
from campaigns.engine import engine
from campaigns.planning import correcting
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.sending.sending import send
from campaigns.texts.template import Template
from notifications.inbox.item import InboxItem
from notifications.inbox.text import InboxText
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_run

WRONG = {"title": "Seventy per cent off", "body": "Today"}
RIGHT = "Seven per cent off"


@pytest.fixture
def run(project: Project) -> Run:
    """Ada and Ben have the wrong text on their phones and in their inboxes."""
    for name in ("ada", "ben"):
        make_device(make_contact(project, external_id=name))
    return sent(make_run(project, template=WRONG, inbox=True))


def sent(run: Run) -> Run:
    for chunk in run.chunks.all():
        send(run.pk, chunk.number, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.state == "finished", f"{run.cause} {run.detail}"
    return run


def corrected(run: Run, title: str, *, without: str = "", inbox: bool = True) -> Run:
    draft = correcting.draft(run, text=correcting.EVERY, by="user:alice")
    filling.at_once(draft.audience)
    draft.audience.members.filter(contact__external_id=without).delete()
    Template.objects.filter(pk=draft.template_id).update(title=title)
    Campaign.objects.filter(pk=draft.pk).update(inbox=inbox)
    draft = Campaign.objects.get(pk=draft.pk)
    correction = control.launch(draft, by="user:alice", now=timezone.now())
    engine.advance(correction.pk, now=timezone.now())
    correction.refresh_from_db()
    return sent(correction)


def titles(project: Project, person: str = "ada") -> list[str]:
    items = InboxItem.objects.filter(project=project, contact__external_id=person)
    return list(items.order_by("pk").values_list("text__content__title", flat=True))


def test_the_wrong_item_is_gone_and_the_right_one_is_new(project: Project, run: Run) -> None:
    now = timezone.now()
    InboxItem.objects.update(seen_at=now, read_at=now, archived_at=now)

    corrected(run, RIGHT)

    assert titles(project) == titles(project, "ben") == [RIGHT]
    for item in InboxItem.objects.all():
        assert (item.seen_at, item.read_at, item.archived_at) == (None, None, None)
    assert not InboxText.objects.filter(content__title=WRONG["title"]).exists()


def test_a_correction_of_a_correction_leaves_one_item(project: Project, run: Run) -> None:
    again = corrected(corrected(run, "Eight"), RIGHT)
    assert titles(project) == [RIGHT]
    assert InboxItem.objects.get(contact__external_id="ada").reference == f"run {again.pk}"


def test_a_second_correction_of_the_same_run_replaces_the_first(project: Project, run: Run) -> None:
    corrected(run, "Eight")
    corrected(run, RIGHT)
    assert titles(project) == [RIGHT]


def test_other_items_and_other_people_keep_what_they_have(project: Project, run: Run) -> None:
    sent(make_run(project, template={"title": "Tea"}, inbox=True))
    corrected(run, RIGHT, without="ben")
    assert titles(project) == ["Tea", RIGHT]
    assert titles(project, "ben") == [WRONG["title"], "Tea"]


def test_a_wrong_item_goes_even_if_the_person_lacks_a_value_for_the_right_one(
    project: Project, run: Run
) -> None:
    corrected(run, "{{ seat }} is yours")
    assert titles(project) == []


def test_a_correction_that_goes_into_no_inbox_changes_none(project: Project, run: Run) -> None:
    corrected(run, RIGHT, inbox=False)
    assert titles(project) == [WRONG["title"]]
