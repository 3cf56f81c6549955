"""A list that is being filled, or was given up: how far it is, why, and what to do next."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns import tasks
from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.lists import filling
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk
from tests.given.builders import make_audience, make_contact
from tests.given.importing import bring_in

pytestmark = pytest.mark.django_db
GONE = "A list or a run that its rules ask about is gone."


@pytest.fixture
def refused(project: Project) -> Audience:
    """Its rules ask about a list that was deleted before anybody was put on it."""
    for n in range(3):
        make_contact(project, external_id=f"u{n}")
    asked = make_audience(project, name="Asked", kind="list")
    made = filling.begin(
        project.pk, "Rest", {"not": {"field": "list", "op": "eq", "value": asked.pk}}
    )
    Audience.objects.filter(pk=asked.pk).delete()
    tasks.fill_list(made.pk)
    made.refresh_from_db()
    return made


def again(desk: Desk, one: Audience) -> Any:
    return desk.post("audience_refill", one.pk)


def test_a_list_that_is_refused_says_why_and_is_not_asked_for_again(
    desk: Desk, project: Project, refused: Audience
) -> None:
    text = desk.open("campaigns_audience_change", refused.pk)
    assert f"This list was not filled. {GONE} 0 people are on it so far." in text
    assert "is being filled" not in text and "Delete this list" in text
    assert f"Not filled: {GONE}" in desk.open("campaigns_audience_changelist")
    assert filling.unfinished() == []
    tasks.fill_list(refused.pk)
    assert not Member.objects.exists()


def test_a_list_that_failed_goes_on_where_it_stood_once_somebody_tries_again(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_contact(project, external_id="u1")
    made = filling.begin(project.pk, "All", {"all": []})
    with monkeypatch.context() as broken:
        broken.setattr(filling, "add", lambda *_: 1 / 0)
        tasks.fill_list(made.pk)
    assert "ZeroDivisionError: division by zero" in desk.open("campaigns_audience_change", made.pk)

    assert again(desk, made).status_code == 302
    assert filling.unfinished() == [made.pk]
    assert AuditEntry.objects.get(action="filled again").subject_id == made.pk
    tasks.fill_list(made.pk)
    assert Member.objects.get().audience_id == made.pk
    assert "This list" not in desk.open("campaigns_audience_change", made.pk)


def test_nothing_is_tried_again_of_a_list_that_is_whole(desk: Desk, project: Project) -> None:
    whole = make_audience(project, kind="list")
    assert again(desk, whole).status_code == 302
    assert not AuditEntry.objects.filter(action="filled again").exists()


def test_a_list_that_was_not_filled_is_not_launched_and_says_so(
    desk: Desk, project: Project, refused: Audience
) -> None:
    with pytest.raises(Exception, match="It was not filled"):
        refused.clean()


def test_a_list_being_filled_says_how_far_it_is(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch, enqueued: list[int]
) -> None:
    monkeypatch.setattr(filling, "PEOPLE_AT_ONCE", 2)
    for n in range(5):
        make_contact(project, external_id=f"u{n}")
    made = filling.begin(project.pk, "All", {"all": []})
    monkeypatch.setattr(tasks, "FILLING_SECONDS", 0.0)
    tasks.fill_list(made.pk)
    text = desk.open("campaigns_audience_change", made.pk)
    assert "About 25 % of the people are looked through. 2 people are on it so far." in text
    assert "Being filled: about 25 %" in desk.open("campaigns_audience_changelist")


def test_a_list_of_an_import_whose_people_are_no_longer_kept_says_so(
    desk: Desk, project: Project
) -> None:
    one = bring_in(project, "id,city\nu1,Seoul\n")
    one.batches.all().delete()
    made = filling.begin_of_import(project.pk, "Spring", one.pk)
    tasks.fill_list(made.pk)
    text = desk.open("campaigns_audience_change", made.pk)
    assert "Whom this import brought is no longer kept." in text
