"""A correction takes the place of the wrong item in each inbox that it reaches."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.audiences.lists import filling
from campaigns.corrections import draft_correction
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.sending.sending import send
from campaigns.texts.template import Template
from notifications.inbox.item import InboxItem
from notifications.inbox.text import InboxText
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_run
from tests.inbox.shared import change_text, send_once, try_again

WRONG = {"title": "Seventy per cent off", "body": "Today"}
RIGHT = "Seven per cent off"


@pytest.fixture
def run(project: Project) -> Run:
    """Ada and Ben have the wrong text on their phones and in their inboxes."""
    for name in ("ada", "ben"):
        make_device(make_contact(project, external_id=name))
    return sent(make_run(project, template=WRONG, inbox=True))


@pytest.fixture
def deaf(project: Project) -> Contact:
    """Their phone's address is dead: they find the wrong text in the inbox alone."""
    person = make_contact(project, external_id="deaf")
    make_device(person, "dead-1:APA91b")
    return person


def sent(run: Run) -> Run:
    for chunk in run.chunks.all():
        send(run.pk, chunk.number, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.state == "finished", f"{run.cause} {run.detail}"
    return run


def drafted(run: Run, **which: Any) -> Campaign:
    draft = draft_correction.draft(
        run, **{"text": draft_correction.EVERY, "by": "user:alice", **which}
    )
    assert filling.at_once(draft.audience)
    return draft


def on_list(draft: Campaign) -> set[str]:
    return {*draft.audience.members.values_list("contact__external_id", flat=True)}


def corrected(run: Run, title: str, *, without: str = "", inbox: bool = True) -> Run:
    draft = drafted(run)
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


def test_who_has_the_wrong_text_in_the_inbox_alone_gets_the_right_one(
    project: Project, deaf: Contact, run: Run
) -> None:
    assert titles(project, "deaf") == [WRONG["title"]]
    make_device(deaf)

    correction = corrected(run, RIGHT)

    assert (correction.accepted, correction.people) == (3, 3)
    assert titles(project, "deaf") == [RIGHT]


def test_where_the_correction_reaches_no_phone_the_wrong_item_goes(
    project: Project, deaf: Contact, run: Run
) -> None:
    sent(make_run(project, template={"title": "Tea"}, inbox=True))
    make_device(deaf)
    InboxItem.objects.filter(contact=deaf, text__content__title="Tea").delete()
    Device.objects.filter(contact=deaf).delete()

    correction = corrected(run, RIGHT)

    assert correction.people == 2
    assert titles(project, "deaf") == []
    assert titles(project) == ["Tea", RIGHT]


def test_a_run_that_reached_nobody_is_corrected_for_the_inboxes(
    project: Project, deaf: Contact
) -> None:
    run = sent(make_run(project, template=WRONG, inbox=True))
    assert (run.accepted, run.unknown) == (0, 0)

    corrected(run, RIGHT)

    assert titles(project, "deaf") == []


def test_a_run_that_is_in_no_inbox_and_reached_nobody_is_not(
    project: Project, deaf: Contact
) -> None:
    run = sent(make_run(project, template=WRONG))
    with pytest.raises(draft_correction.NotCorrectable, match="Nobody got"):
        draft_correction.draft(run, text=draft_correction.EVERY, by="user:alice")


def test_who_has_removed_the_item_and_got_no_push_is_not_on_the_list(
    project: Project, deaf: Contact, run: Run
) -> None:
    assert on_list(drafted(run)) == {"ada", "ben", "deaf"}
    InboxItem.objects.filter(contact=deaf).delete()
    assert on_list(drafted(run)) == {"ada", "ben"}


def test_only_inboxes_with_the_wrong_language_are_meant(project: Project, deaf: Contact) -> None:
    Contact.objects.filter(pk=deaf.pk).update(locale="ko")
    make_device(make_contact(project, external_id="german", locale="de"), "dead-2:APA91b")
    make_device(make_contact(project, external_id="ada", locale="ko"))
    run = sent(make_run(project, template={**WRONG, "locales": {"ko": WRONG}}, inbox=True))

    assert on_list(drafted(run, text="ko")) == {"ada", "deaf"}
    assert on_list(drafted(run, text="main")) == {"german"}


def test_only_inboxes_with_the_wrong_revision_are_meant(project: Project, deaf: Contact) -> None:
    """Ada is tried again after the text was changed."""
    make_device(make_contact(project, external_id="ada"), "flaky-1:APA91b")  # once
    run = make_run(project, template=WRONG, inbox=True)
    send_once(run)
    change_text(run, RIGHT)
    try_again(run)
    run = sent(run)

    assert (titles(project), titles(project, "deaf")) == ([RIGHT], [WRONG["title"]])
    assert on_list(drafted(run, revisions=[1])) == {"deaf"}
    assert on_list(drafted(run)) == {"ada", "deaf"}


def test_a_cancelled_correction_leaves_the_items_of_those_it_did_not_reach(
    project: Project, deaf: Contact, run: Run
) -> None:
    draft = drafted(run)
    Template.objects.filter(pk=draft.template_id).update(title=RIGHT)
    correction = control.launch(
        Campaign.objects.get(pk=draft.pk), by="user:alice", now=timezone.now()
    )
    engine.advance(correction.pk, now=timezone.now())

    control.cancel(correction, by="user:alice")
    engine.advance(correction.pk, now=timezone.now())

    for person in ("ada", "ben", "deaf"):
        assert titles(project, person) == [WRONG["title"]]


def test_what_the_wrong_items_said_is_gone_with_the_last_of_them(
    project: Project, deaf: Contact, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts, however many there are."""
    monkeypatch.setattr("campaigns.engine.wrong_items.AT_ONCE", 1)
    make_device(make_contact(project, external_id="mute"), "dead-2:APA91b")
    run = sent(make_run(project, template=WRONG, inbox=True))

    corrected(run, RIGHT)

    assert titles(project, "mute") == []


def launched(run: Run, title: str) -> Run:
    """A correction that has begun, with nothing sent yet."""
    draft = drafted(run)
    Template.objects.filter(pk=draft.template_id).update(title=title)
    draft = Campaign.objects.get(pk=draft.pk)
    correction = control.launch(draft, by="user:alice", now=timezone.now())
    engine.advance(correction.pk, now=timezone.now())
    correction.refresh_from_db()
    return correction


def test_of_two_corrections_under_way_the_later_one_stays(project: Project, run: Run) -> None:
    """Whichever of them reaches a person last."""
    slow, later = launched(run, "Eight"), launched(run, RIGHT)
    sent(later)
    assert titles(project) == [RIGHT]

    sent(slow)

    assert titles(project) == titles(project, "ben") == [RIGHT]


def test_two_workers_at_the_same_person_leave_the_later_item_when_both_have_ended(
    project: Project, run: Run
) -> None:
    """Neither saw the item of the other. Whichever correction finishes last removes the older."""
    slow, later = launched(run, "Eight"), launched(run, RIGHT)
    for chunk in slow.chunks.all():
        send(slow.pk, chunk.number, slow.epoch)
    InboxItem.objects.filter(reference=f"run {slow.pk}").update(reference="beside")
    sent(later)
    InboxItem.objects.filter(reference="beside").update(reference=f"run {slow.pk}")
    assert titles(project) == ["Eight", RIGHT]

    engine.advance(slow.pk, now=timezone.now())

    assert titles(project) == titles(project, "ben") == [RIGHT]


def test_sending_the_wrong_run_again_does_not_bring_its_item_back(
    project: Project, run: Run
) -> None:
    make_device(make_contact(project, external_id="lost"), "lost-1:APA91b")
    wrong = sent(make_run(project, template=WRONG, inbox=True, on_unknown="hold"))
    assert wrong.unknown == 1
    corrected(wrong, RIGHT)
    before = titles(project, "lost")

    control.send_again(wrong, by="user:alice")
    wrong.refresh_from_db()
    send_once(wrong)

    assert titles(project, "lost") == before == [RIGHT]


def test_a_second_correction_of_the_first_run_means_those_whom_the_first_reached_in_the_inbox(
    project: Project, deaf: Contact, run: Run
) -> None:
    make_device(deaf, "dead-3:APA91b")
    corrected(run, "Eight")
    assert titles(project, "deaf") == ["Eight"]

    assert on_list(drafted(run)) == {"ada", "ben", "deaf"}
    corrected(run, RIGHT)

    for person in ("ada", "ben"):
        assert titles(project, person) == [RIGHT]
    assert titles(project, "deaf") != ["Eight"]
