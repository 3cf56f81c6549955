"""Testers are marked on their own page, several at once in the list, and found by a filter."""

from __future__ import annotations

import pytest

from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.builders import make_contact, make_project
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db


def marked() -> set[str]:
    return set(Contact.objects.filter(tester=True).values_list("external_id", flat=True))


def mark(desk: Desk, verb: str, *people: Contact) -> str:
    ids = [str(person.pk) for person in people]
    given = {"action": verb, "_selected_action": ids}
    return desk.save("notifications_contact_changelist", **given)


def form_of(person: Contact, **ticked: str) -> dict[str, str]:
    return {
        "external_id": person.external_id,
        "locale": person.locale,
        "timezone": person.timezone,
        "attributes": "{}",
        **ticked,
    }


def test_one_is_marked_on_their_page(project: Project, desk: Desk) -> None:
    person = make_contact(project, external_id="mina")
    desk.save("notifications_contact_change", person.pk, **form_of(person, tester="on"))
    assert marked() == {"mina"}
    assert "mina Tester" in desk.open("notifications_contact_change", person.pk)
    entry = AuditEntry.objects.get(action="changed")
    assert "tester" in entry.changes
    desk.save("notifications_contact_change", person.pk, **form_of(person))
    assert marked() == set()


def test_several_are_marked_and_unmarked_in_the_list(project: Project, desk: Desk) -> None:
    mina, leo, sora = (make_contact(project, external_id=name) for name in ("mina", "leo", "sora"))
    assert "2 people are testers now." in mark(desk, "mark_testers", mina, leo)
    assert marked() == {"mina", "leo"}
    assert "1 person is a tester now." in mark(desk, "mark_testers", leo, sora)
    assert "1 person is no tester any more." in mark(desk, "unmark_testers", leo)
    assert marked() == {"mina", "sora"}
    counts = AuditEntry.objects.filter(action="marked as testers").order_by("pk")
    assert [entry.detail["people"] for entry in counts] == [2, 1]


def test_the_list_shows_who_is_one_and_keeps_to_them_if_asked(project: Project, desk: Desk) -> None:
    make_contact(project, external_id="mina", tester=True)
    make_contact(project, external_id="leo")
    everybody = desk.open("notifications_contact_changelist")
    assert "mina" in everybody and "leo" in everybody and "Tester" in everybody
    only = desk.open("notifications_contact_changelist", tester="yes")
    assert "mina" in only and "leo" not in only


def test_nobody_of_another_project_is_marked(project: Project, desk: Desk) -> None:
    stranger = make_contact(make_project(), external_id="stranger")
    mark(desk, "mark_testers", stranger)
    assert marked() == set()


def test_who_may_only_look_is_offered_no_mark_and_sets_none(project: Project) -> None:
    person = make_contact(project, external_id="mina")
    viewer = Desk(logged_in(Role.VIEWER))
    assert "Mark as testers" not in viewer.open("notifications_contact_changelist")
    given = {"action": "mark_testers", "_selected_action": [str(person.pk)]}
    viewer.post("notifications_contact_changelist", **given)
    assert marked() == set()
