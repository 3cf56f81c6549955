"""A person's attributes are fields of their types, with or without a script."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from notifications.people.attributes import Attribute
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_contact

pytestmark = pytest.mark.django_db
Rows = list[tuple[str, str, str]]


def saved(desk: Desk, contact: Contact, rows: Rows) -> str:
    return text_of(posted(desk, contact, rows))


def posted(desk: Desk, contact: Contact, rows: Rows) -> Any:
    """As the page's form posts its rows."""
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    parts = dict(zip(("name", "kind", "value"), columns, strict=True))
    values: dict[str, Any] = {f"attributes-{part}": [*column] for part, column in parts.items()}
    reply = desk.client.post(
        reverse("admin:notifications_contact_change", args=[contact.pk]),
        {"external_id": contact.external_id, "locale": "en", "timezone": "UTC",
         "attributes-rows": "1", **values},
        follow=True,
    )  # fmt: skip
    assert reply.status_code == 200
    return reply


def as_shown(desk: Desk, contact: Contact) -> Rows:
    """Every row of the page, as a browser would post it unchanged."""
    url = reverse("admin:notifications_contact_change", args=[contact.pk])
    html = desk.client.get(url).content.decode()
    rows = html.split('<div class="p-attribute"')[1:]
    return [(_field(row, "name"), _field(row, "kind"), _field(row, "value")) for row in rows]


def _field(row: str, part: str) -> str:
    name = f'name="attributes-{part}"'
    if area := re.search(rf"<textarea[^>]*{name}[^>]*>\n(.*?)</textarea>", row, re.DOTALL):
        return unescape(area[1])
    if choice := re.search(rf"<select[^>]*{name}.*?</select>", row, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', choice[0])
        first = re.search(r'value="([^"]*)"', choice[0])
        return (chosen or first or [""] * 2)[1]
    found = re.search(rf'<input[^>]*{name}[^>]*value="([^"]*)"', row)
    return unescape(found[1]) if found else ""


EVERYTHING: dict[str, Any] = {
    "plan": "pro", "note": "two\nlines & <b>", "points": 12, "share": 0.5, "long": 10**30,
    "vip": True, "tags": ["a", "b, c"], "numbers": [1, 2], "home": {"city": "x"}, "none": None,
    "nothing": "", "spaces": ["a "], "no": [],
}  # fmt: skip


def test_saving_the_page_as_it_is_changes_nothing(desk: Desk, project: Project) -> None:
    contact = make_contact(project, attributes=EVERYTHING)
    saved(desk, contact, as_shown(desk, contact))
    assert Contact.objects.get().attributes == EVERYTHING
    assert not AuditEntry.objects.filter(action="changed", subject_kind="contact").exists()


def test_each_value_is_written_in_its_own_type(desk: Desk, project: Project) -> None:
    contact = make_contact(project, attributes={"old": "x"})
    saved(desk, contact, [
        ("plan", "text", "007"), ("points", "number", " 12 "), ("share", "number", "0.50"),
        ("vip", "boolean", "yes"), ("out", "boolean", "false"), ("tags", "list", "a\r\n\r\n b "),
        ("home", "json", '{"city": "Seoul"}'), ("", "text", ""),
    ])  # fmt: skip
    assert Contact.objects.get().attributes == {
        "plan": "007", "points": 12, "share": 0.5, "vip": True, "out": False, "tags": ["a", "b"],
        "home": {"city": "Seoul"},
    }  # fmt: skip


def test_an_emptied_value_removes_its_attribute(desk: Desk, project: Project) -> None:
    contact = make_contact(project, attributes={"plan": "pro", "city": "Seoul", "blank": ""})
    saved(desk, contact, [("plan", "text", ""), ("city", "text", "Seoul"), ("blank", "text", "")])
    assert Contact.objects.get().attributes == {"city": "Seoul", "blank": ""}


def test_the_declared_type_holds_whatever_the_row_says(desk: Desk, project: Project) -> None:
    Attribute.objects.create(project=project, name="points", type="number")
    Attribute.objects.create(project=project, name="since", type="time")
    contact = make_contact(project, attributes={})
    said = saved(desk, contact, [("points", "text", "many"), ("since", "time", "2026-05-31")])
    assert "points: write a number such as 12 or 0.5" in said
    assert Contact.objects.get().attributes == {}
    saved(desk, contact, [("points", "text", "5"), ("since", "text", "2026-05-31")])
    assert Contact.objects.get().attributes == {"points": 5, "since": "2026-05-31"}
    said = saved(desk, contact, [("since", "time", "soon")])
    assert "since: must be a date or a time" in said


def test_declared_attributes_that_a_person_lacks_have_a_row(desk: Desk, project: Project) -> None:
    Attribute.objects.create(project=project, name="points", type="number")
    Attribute.objects.create(project=project, name="vip", type="boolean")
    contact = make_contact(project, attributes={"points": 5})
    shown = as_shown(desk, contact)
    assert shown[:2] == [("points", "number", "5"), ("vip", "boolean", "")]
    assert shown[2:] == [("", "text", "")] * 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a b", "text", "x")], "A name starts with a letter"),
        ([("", "text", "x")], "A value has no name"),
        ([("a", "text", "x"), ("a", "text", "y")], "“a” stands twice"),
        ([("a", "number", "1,000")], "a: write a number such as 12"),
        ([("a", "number", "NaN")], "a: write a number such as 12"),
        ([("a", "boolean", "perhaps")], "a: write yes or no"),
        ([("a", "json", "{")], "a: line 1, column 2"),
        ([("a", "json", "[" * 200 + "]" * 200)], "a: Nested deeper"),
        ([("a", "json", '"\\u0000"')], "cannot be stored"),
        ([("a", "number", "1e5000")], "A number of more than 1,000 digits"),
        ([(f"a{n}", "text", "x") for n in range(101)], "At most 100 attributes; there are 101"),
        ([(f"a{n}", "text", "x") for n in range(200)], "Too many rows; at most 150"),
    ],
)
def test_what_cannot_be_kept_is_said_by_name_and_stands_as_typed(
    desk: Desk, project: Project, rows: Rows, said: str
) -> None:
    contact = make_contact(project, attributes={"kept": "x"})
    page = saved(desk, contact, rows)
    assert said in page
    assert Contact.objects.get().attributes == {"kept": "x"}


def test_each_wrong_row_says_what_is_wrong_with_it_and_no_other_does(
    desk: Desk, project: Project
) -> None:
    contact = make_contact(project, attributes={"kept": "x"})
    rows = [("kept", "text", "x"), ("age", "number", "old"), ("vip", "boolean", "perhaps")]
    page = posted(desk, contact, rows).content.decode()
    assert page.count('aria-invalid="true"') == 2
    parts = page.split('class="p-attribute-wrong"')
    assert "Write a number such as 12" in parts[1] and "Write yes or no." in parts[2]


def test_a_change_is_recorded_once(desk: Desk, project: Project) -> None:
    contact = make_contact(project, attributes={"plan": "pro"})
    saved(desk, contact, [("plan", "text", "free")])
    [entry] = AuditEntry.objects.filter(action="changed", subject_kind="contact")
    assert "attributes" in str(entry.detail)
