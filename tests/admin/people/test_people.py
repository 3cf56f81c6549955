"""People, devices, keys and projects by hand, with the checks the API has."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from notifications.admin.contact import ContactPage
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from notifications.staff.audit import AuditEntry
from notifications.values import exact
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_contact, make_people, make_project

pytestmark = pytest.mark.django_db


def person(**values: Any) -> dict[str, Any]:
    return {"external_id": "u1", "locale": "ko", "timezone": "", "attributes": "{}", **values}


def test_a_person_is_made_by_hand(desk: Desk, project: Project) -> None:
    desk.save("notifications_contact_add", **person(attributes='{"plan": "pro"}'))
    contact = Contact.objects.get()
    assert (contact.project, contact.attributes) == (project, {"plan": "pro"})
    desk.save("notifications_contact_change", contact.pk, **person(attributes=""))
    assert Contact.objects.get().attributes == {}


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("attributes", "[1]", "must be an object"),
        ("attributes", '{"a b": 1}', "A name starts with a letter"),
        ("attributes", '{"a": "\\u0000"}', "cannot be stored"),
        ("attributes", '{"a": Infinity}', "Infinity is not a number"),
        ("locale", "english please", "Use a language tag"),
        ("timezone", "Mars/Olympus", "is not a time zone we know"),
        ("external_id", "", "This field is required"),
    ],
)
def test_values_that_rules_and_texts_cannot_handle_are_refused(
    desk: Desk, project: Project, field: str, value: str, said: str
) -> None:
    assert said in desk.save("notifications_contact_add", **person(**{field: value}))
    assert not Contact.objects.exists()


def test_a_long_number_is_kept_and_shown_as_it_was_typed(desk: Desk, project: Project) -> None:
    typed = '{"n": 12345678901234567890123, "share": 0.1234567890123456789, "far": 1e400}'
    desk.save("notifications_contact_add", **person(attributes=typed))
    contact = Contact.objects.get()
    page = desk.open("notifications_contact_change", contact.pk)
    assert " 12345678901234567890123 " in page and " 0.1234567890123456789 " in page
    kept = '{"n": 12345678901234567890123, "share": 0.1234567890123456789}'
    desk.save("notifications_contact_change", contact.pk, **person(attributes=kept))
    assert exact.dumps(Contact.objects.get().attributes).decode() == kept.replace(" ", "")
    said = desk.save("notifications_contact_add", **person(attributes='{"n": 1e5000}'))
    assert "n: A number of more than 1,000 digits; send it as a text." in said


def test_two_people_of_one_id_are_refused(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="u1")
    assert "is taken already" in desk.save("notifications_contact_add", **person())


def test_a_person_never_moves_to_another_project(desk: Desk, project: Project) -> None:
    contact = make_contact(project, external_id="u1")
    other = make_project()
    reply = desk.post("notifications_contact_change", contact.pk, **person(project=other.pk))
    assert reply.status_code == 400 and "names two projects" in text_of(reply)
    assert Contact.objects.get().project == project


def test_deleting_a_person_takes_the_devices_along(desk: Desk, project: Project) -> None:
    [device] = make_people(project, 1)
    assert "devices, lists, consent" in desk.open("notifications_contact_delete", device.contact_id)
    desk.post("notifications_contact_delete", device.contact_id, post="yes")
    assert not Contact.objects.exists() and not Device.objects.exists()
    assert AuditEntry.objects.get().action == "erased"


def test_whoever_is_erased_while_they_are_changed_does_not_come_back(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    contact = make_contact(project, external_id="u1")
    find = ContactPage.get_object

    def find_and_lose(page: ContactPage, *asked: Any, **more: Any) -> Any:
        found = find(page, *asked, **more)
        Contact.objects.all().delete()
        return found

    monkeypatch.setattr(ContactPage, "get_object", find_and_lose)
    said = desk.save("notifications_contact_change", contact.pk, **person(locale="en"))
    assert "This person has been erased in the meantime." in said
    assert not Contact.objects.exists()


def test_a_device_is_given_to_a_person_named_by_external_id(desk: Desk, project: Project) -> None:
    contact = make_contact(project, external_id="u1")
    form = {"kind": "token", "address": "abc:APA91b", "platform": "ios", "person": "u1"}
    assert "No person “ghost” in Shop." in desk.save(
        "notifications_device_add", **{**form, "person": "ghost"}
    )
    assert "ASCII" in desk.save("notifications_device_add", **{**form, "address": "한글"})
    desk.save("notifications_device_add", **form)
    assert Device.objects.get().contact == contact
    assert "already belongs to somebody's device" in desk.save("notifications_device_add", **form)
    assert "u1" in desk.open("notifications_device_changelist", q="abc:APA91b")
    assert "u1" in desk.open("notifications_device_changelist", q="APA91b")  # as a log shows it
    assert "Nothing found" in desk.open("notifications_device_changelist", q="abc")


def test_a_key_is_shown_once_and_kept_as_a_hash(desk: Desk, project: Project) -> None:
    form = {"name": "shop", "scopes": ["contacts"], "expires_at_0": "", "expires_at_1": ""}
    reply = desk.post("notifications_apikey_add", **form)
    row = ApiKey.objects.get()
    shown = text_of(reply)
    key = next(word for word in shown.split() if word.startswith(row.prefix) and "…" not in word)

    assert ApiKey.find_valid(key, now=timezone.now()) == row
    assert row.scopes == ["contacts"]
    assert "no-store" in reply["Cache-Control"]
    assert key not in desk.open("notifications_apikey_change", row.pk)
    assert key not in desk.open("notifications_auditentry_changelist")
    assert not any(key in str(cookie) for cookie in reply.cookies.values())


def test_a_project_is_made_but_not_deleted(desk: Desk, project: Project) -> None:
    form = {"name": "Museum", "slug": "museum", "timezone": "Europe/Berlin",
            "firebase_project_id": "museum-1", "quota_per_minute": "600000",
            "ramp_seconds": "60"}  # fmt: skip
    desk.save("notifications_project_add", **form)
    assert Project.objects.filter(slug="museum").exists()
    assert desk.post("notifications_project_delete", project.pk, post="yes").status_code == 403


def test_the_audit_trail_cannot_be_changed(desk: Desk, project: Project) -> None:
    desk.save("notifications_contact_add", **person())
    entry = AuditEntry.objects.get()
    assert "created person u1" in desk.open("notifications_auditentry_changelist")
    desk.open("notifications_auditentry_change", entry.pk)
    assert desk.post("notifications_auditentry_change", entry.pk).status_code == 403
    assert desk.post("notifications_auditentry_delete", entry.pk, post="yes").status_code == 403
