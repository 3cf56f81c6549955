"""Attributes: what people are known by, a type that every door keeps, and finding people by it."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from campaigns.audiences import vocabulary
from notifications.admin import contact as contact_page
from notifications.people import attributes
from notifications.people.attributes import Attribute
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, messages_of, text_of
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_contact, make_project, make_template

pytestmark = pytest.mark.django_db
LIST = "notifications_attribute_changelist"
PEOPLE = "notifications_contact_changelist"


def declare(project: Project, name: str, kind: str = "", **values: Any) -> Attribute:
    return Attribute.objects.create(project=project, name=name, type=kind, **values)


def test_the_page_says_who_has_an_attribute_and_what_uses_it(desk: Desk, project: Project) -> None:
    for city in ("Seoul", "Seoul", "Busan"):
        make_contact(project, attributes={"city": city, "tags": ["a", "b"]})
    make_contact(project, attributes={"city": ""})
    make_template(project, title="Hi", body="Come to {{ city }}")
    make_audience(project, rules={"field": "attributes.city", "op": "eq", "value": "Seoul"})
    make_contact(make_project(), attributes={"elsewhere": 1})
    declare(project, "vip", "boolean")
    text = desk.open(LIST)
    assert "city Text (seen, not declared) 75 % of people, 2 values Seoul · Busan" in text
    assert "1 template, 1 audience no Declare city" in text
    assert "a, b" in text and "elsewhere" not in text
    assert "vip Yes or no none of the people checked has it" in text


def count_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = "(SELECT *, TRUE AS spread FROM {table}, pg_sleep(5) WHERE project_id = {project})"
    monkeypatch.setattr(vocabulary, "SAMPLE", sample)
    monkeypatch.setattr(vocabulary, "LOOKING_SECONDS", 0.05)


def test_the_page_says_that_counting_took_too_long(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_contact(project, attributes={"vip": True})
    declare(project, "vip", "boolean")
    count_too_long(monkeypatch)
    text = desk.open(LIST)
    assert "vip Yes or no counting took too long" in text
    assert "none of the people checked" not in text


def test_a_type_that_others_have_or_rules_compare_otherwise_is_declared_on_confirmation_only(
    desk: Desk, project: Project
) -> None:
    for value in (5, 7, "many", None):
        make_contact(project, attributes={"points": value})
    number = {"field": "attributes.points", "op": "gt", "value": 5}
    make_audience(project, name="Collectors", rules={"all": [number]})
    make_audience(project, name="Seven", rules={**number, "op": "in", "value": ["many", 7]})
    make_audience(project, name="Known", rules={"field": "attributes.points", "op": "exists"})
    form = {"project": project.pk, "name": "points", "type": "text"}

    asked = desk.save("notifications_attribute_add", **form)

    assert not Attribute.objects.exists()
    assert "2 of the 4 people checked have another type: Number" in asked
    assert "Audiences compare it with another type: Collectors, Seven." in asked
    assert "Declare it anyway" in asked
    desk.save("notifications_attribute_add", **form, confirmed="on")
    assert Attribute.objects.get().type == "text"


def test_a_type_that_everybody_has_is_declared_without_a_question(
    desk: Desk, project: Project
) -> None:
    make_contact(project, attributes={"code": "2031-05-06", "points": 5})
    make_audience(project, rules={"field": "attributes.points", "op": "gt", "value": 5})
    form = desk.client.get(reverse("admin:notifications_attribute_add")).content.decode()
    assert '<input type="hidden" name="confirmed"' in form
    for name, kind in (("code", "text"), ("points", "number")):
        desk.save("notifications_attribute_add", project=project.pk, name=name, type=kind)
    assert Attribute.objects.count() == 2


def test_a_count_that_takes_too_long_is_told_before_a_type_is_declared(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_contact(project)
    count_too_long(monkeypatch)
    form = {"project": project.pk, "name": "points", "type": "text"}
    asked = desk.save("notifications_attribute_add", **form)
    assert "Counting who has another type took too long." in asked
    assert not Attribute.objects.exists()


def test_the_form_that_declares_a_type_shows_how_many_have_another(
    desk: Desk, project: Project
) -> None:
    make_contact(project, attributes={"points": "many"})
    form = {"project": project.pk, "name": "points", "type": "number", "confirmed": "on"}
    desk.save("notifications_attribute_add", **form)
    assert "Number Some people still have another type: Text." in desk.open(LIST)
    entry = AuditEntry.objects.get(action="created", subject_kind="attribute")
    assert entry.subject_name == "points" and "confirmed" not in str(entry.detail)


@pytest.mark.parametrize(
    ("kind", "fits", "others"),
    [
        ("text", ["x", ""], [5, True, ["x"], {"a": 1}]),
        ("number", [5, 1.5, 10**20], ["5", True, [5]]),
        ("boolean", [True, False], [1, "true"]),
        (
            "time",
            ["2026-05-31", "2026-05-31T09:00:00Z"],
            ["soon", "20260531", "2026-02-30", "2026-05-31T09", "2026-W22-7", 5],
        ),
        ("list", [[], ["a", 1]], ["a", {"a": 1}]),
    ],
)
def test_a_declared_type_refuses_every_other(kind: str, fits: list[Any], others: list[Any]) -> None:
    for value in [*fits, None]:
        attributes.refuse_other_types({"it": kind}, {"it": value, "more": object()})
    for value in others:
        with pytest.raises(ValidationError, match="it: must be"):
            attributes.refuse_other_types({"it": kind}, {"it": value})


def test_the_api_refuses_one_row_of_another_type_and_writes_the_rest(project: Project) -> None:
    declare(project, "points", "number")
    caller, words = Caller(project), "points: must be a number, as its type says; it is a text."
    people = [
        {"external_id": "ada", "attributes": {"points": 5}},
        {"external_id": "bob", "attributes": {"points": "five"}},
    ]
    told = caller.post("contacts/bulk", {"contacts": people}).json()
    assert (told["created"], told["rejected"]) == (
        1, [{"index": 1, "field": "attributes", "message": words}],
    )  # fmt: skip
    for answer in (
        caller.put("contacts/ada", {"attributes": {"points": "five"}}),
        caller.patch("contacts/ada", {"attributes": {"points": "five"}}),
    ):
        assert answer.status_code == 400 and words in answer.content.decode()
    assert Contact.objects.get().attributes == {"points": 5}


def test_another_value_of_somebody_with_an_old_type_can_be_changed(project: Project) -> None:
    make_contact(project, external_id="ada", attributes={"points": "many"})
    declare(project, "points", "number")
    answer = Caller(project).patch("contacts/ada", {"attributes": {"city": "Seoul"}})
    assert answer.status_code == 200
    assert Contact.objects.get().attributes == {"points": "many", "city": "Seoul"}


def test_a_page_refuses_a_value_of_another_type(desk: Desk, project: Project) -> None:
    declare(project, "points", "number")
    person = {"project": project.pk, "external_id": "ada", "attributes": '{"points": "five"}'}
    said = desk.save("notifications_contact_add", **person)
    assert "points: must be a number" in said and not Contact.objects.exists()


def test_people_are_found_by_a_searchable_attribute_only(desk: Desk, project: Project) -> None:
    make_contact(
        project,
        external_id="u1",
        attributes={"email": "Ada@Example.com", "city": "seoul", "points": 5, "tags": ["VIP"]},
    )
    make_contact(make_project(), external_id="other", attributes={"city": "seoul"})
    assert "u1" not in desk.open(PEOPLE, q="Seoul")
    declare(project, "city", "text", searchable=True)
    declare(project, "points", "number", searchable=True)
    declare(project, "tags", searchable=True)
    for term in ("Seoul", "seoul", "5", "vip"):
        text = desk.open(PEOPLE, q=term)
        assert "u1" in text and "other" not in text, term
    assert "u1" not in desk.open(PEOPLE, q="Ada@Example.com")
    Attribute.objects.filter(name="city").update(searchable=False)
    assert "u1" not in desk.open(PEOPLE, q="seoul")


def test_a_search_that_many_fit_shows_the_newest_and_says_so(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(project, "city", searchable=True)
    for number in range(3):
        make_contact(project, external_id=f"person-{number}", attributes={"city": "Seoul"})
    monkeypatch.setattr(contact_page, "MAX_OWNERS", 2)
    text = desk.open(PEOPLE, q="Seoul")
    assert "person-2" in text and "person-0" not in text
    assert "these are the newest 2" in text


def test_the_limits_name_what_to_do(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(project, "city", searchable=True)
    monkeypatch.setattr(attributes, "MAX_SEARCHABLE", 1)
    form = {"project": project.pk, "name": "team", "type": ""}
    said = desk.save("notifications_attribute_add", **form, searchable="on")
    assert "At most 1 attributes are searchable; switch another one off." in said
    monkeypatch.setattr(attributes, "MAX_DECLARED", 1)
    assert "remove one first" in desk.save("notifications_attribute_add", **form)
    assert "starts with a letter" in desk.save(
        "notifications_attribute_add", **{**form, "name": "first name"}
    )
    assert Attribute.objects.count() == 1


def test_a_declared_attribute_keeps_its_name_and_can_be_dropped(
    desk: Desk, project: Project
) -> None:
    row = declare(project, "city")
    form = {"project": project.pk, "name": "town", "type": "text"}
    desk.save("notifications_attribute_change", row.pk, **form)
    row.refresh_from_db()
    assert (row.name, row.type) == ("city", "text")
    reply = desk.post("notifications_attribute_delete", row.pk, post="yes")
    assert messages_of(reply) and not Attribute.objects.exists()


def test_an_attribute_that_only_a_rule_uses_is_listed_too(desk: Desk, project: Project) -> None:
    make_audience(project, rules={"field": "attributes.tier", "op": "eq", "value": "x"})
    text = desk.open(LIST)
    assert "tier" in text and "1 audience" in text


def test_a_person_s_times_are_shown_on_the_project_s_clock(desk: Desk, project: Project) -> None:
    """A day, an hour without a zone, and what is declared a text stay as they are."""
    Project.objects.filter(pk=project.pk).update(timezone="Asia/Seoul")
    declare(project, "renewed", "time")
    declare(project, "code", "text")
    moment = "2026-05-31T18:30:00Z"
    values = {"renewed": moment, "joined": moment, "born": "1990-05-31", "code": moment}
    ada = make_contact(project, attributes={**values, "wakes": "2026-05-31T07:00"})

    known = desk.open("notifications_contact_change", ada.pk).partition("What is known")[2]
    people = text_of(desk.post("audience_count", project=project.pk, rules='{"all": []}'))

    for said in (
        "renewed 1 Jun 2026, 03:30 Asia/Seoul", "joined 1 Jun 2026, 03:30 Asia/Seoul",
        "born 31 May 1990 ", f"code {moment}", "wakes 31 May 2026, 07:00 ",
    ):  # fmt: skip
        assert said in known, said
    assert "born: 31 May 1990" in people and "joined: 1 Jun 2026, 03:30 Asia/Seoul" in people
