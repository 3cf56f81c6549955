"""A person's own app, with an inbox token: their devices, their preferences, nothing else."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from notifications.api.shapes import MAX_DEVICES
from notifications.people.consent.category import Category
from notifications.people.consent.change import ConsentChange
from notifications.people.consent.suppression import Suppression, suppress
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey, Scope
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.api.own_app import OwnApp, app_of, token_of
from tests.given.builders import make_contact, make_device, make_project

FID = "cdefGHIJklmn0123456_-A"
PHONE = {"token": "live-ada:APA91b", "platform": "web", "app_version": "5.2"}


@pytest.fixture
def ada(ours: Project) -> Contact:
    return make_contact(ours, external_id="ada", attributes={"plan": "gold"})


@pytest.fixture
def app(ours: Project, ada: Contact) -> OwnApp:
    return app_of(ours, "ada")


# --- Where a backend gets one -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ada", "a/b.c/d", "아다", "x" * 200, "ada/inbox-token", "a b?&%"])
def test_a_backend_gets_a_token_for_a_person_whatever_their_id(
    alice: Caller, ours: Project, name: str
) -> None:
    person = make_contact(ours, external_id=name)
    path = f"contacts/{name.replace('%', '%25').replace('?', '%3F')}/inbox-token"
    made = alice.post(path).json()
    assert OwnApp(made["token"])("POST", "devices", PHONE).status_code == 200
    assert Device.objects.get().contact == person


def test_an_id_that_ends_like_the_address_is_still_somebody(alice: Caller, ours: Project) -> None:
    make_contact(ours, external_id="ada/inbox-token", locale="ko")
    assert alice.get("contacts/ada/inbox-token").json()["locale"] == "ko"
    assert alice.patch("contacts/ada/inbox-token", {"locale": "en"}).status_code == 200
    assert alice.delete("contacts/ada/inbox-token").status_code == 204
    assert not Contact.objects.exists()


def test_it_lasts_as_long_as_is_asked_within_bounds(alice: Caller, ada: Contact) -> None:
    def lasting(**body: Any) -> float:
        expires_at = alice.post("contacts/ada/inbox-token", body).json()["expires_at"]
        left = datetime.fromisoformat(expires_at) - timezone.now()
        return float(round(left.total_seconds(), -1))

    assert lasting() == 86_400
    assert lasting(expires_in=60) == 60
    assert lasting(expires_in=2_592_000) == 2_592_000
    for wrong in (0, 59, 2_592_001, -1, 10**30, "soon", None):
        refused = alice.post("contacts/ada/inbox-token", {"expires_in": wrong})
        assert fields_at_fault(refused) == ["expires_in"], wrong


def test_there_is_none_for_nobody_or_for_who_is_of_another_project(
    alice: Caller, charlie: Caller, ada: Contact
) -> None:
    assert alice.post("contacts/bob/inbox-token").status_code == 404
    assert alice.post("contacts/bob%00/inbox-token").status_code == 404
    assert charlie.post("contacts/ada/inbox-token").status_code == 404


def test_a_key_without_the_scope_gets_none(ours: Project, ada: Contact) -> None:
    others = [scope for scope in Scope.values if scope != Scope.CONTACTS]
    refused = Caller(ours, others).post("contacts/ada/inbox-token")
    assert refused.status_code == 403 and "contacts" in refused.json()["detail"]


def test_a_token_is_kept_nowhere(alice: Caller, ada: Contact) -> None:
    """Under no Idempotency-Key either, where any answer of another POST is kept."""
    made = alice.post("contacts/ada/inbox-token", {}, Idempotency_Key="once").json()
    app = OwnApp(made["token"])
    app("POST", "devices", PHONE)
    app("PATCH", "preferences", {"subscribed": False})
    signature = made["token"].rpartition(".")[2]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s',
                           [f"%{signature}%"])  # fmt: skip
            assert cursor.fetchone() == (0,), table


def test_the_trail_tells_of_the_secret_that_the_first_token_made_and_of_no_token(
    alice: Caller, ada: Contact
) -> None:
    for _ in range(3):
        alice.post("contacts/ada/inbox-token")
    (entry,) = AuditEntry.objects.all()
    assert (entry.action, entry.subject_kind, entry.actor) == (
        "created", "inboxsecret", f"key:{alice.row.prefix}",
    )  # fmt: skip


# --- Devices ------------------------------------------------------------------------------------


def test_an_app_registers_its_device_for_its_person(app: OwnApp, ada: Contact) -> None:
    answer = app("POST", "devices", PHONE)
    assert answer.status_code == 200
    assert answer.json()["token"] == PHONE["token"]
    device = Device.objects.get()
    assert (device.contact, device.address, device.registered_from) == (ada, PHONE["token"], "app")


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"contact": "bob"}, "contact"),
        ({"external_id": "bob"}, "external_id"),
        ({"attributes": {"plan": "pro"}}, "attributes"),
        ({"token": ""}, "token"),
        ({"platform": "fridge"}, "platform"),
    ],
)
def test_a_body_that_says_more_than_a_device_is_refused(
    app: OwnApp, ours: Project, more: dict[str, Any], field: str
) -> None:
    make_contact(ours, external_id="bob")
    assert fields_at_fault(app("POST", "devices", {**PHONE, **more})) == [field]
    assert not Device.objects.exists()


def test_a_phone_that_changes_hands_moves_to_who_is_logged_in_now(
    app: OwnApp, ours: Project
) -> None:
    make_contact(ours, external_id="bob")
    app("POST", "devices", PHONE)
    app_of(ours, "bob")("POST", "devices", PHONE)
    assert Device.objects.get().contact.external_id == "bob"


def test_of_an_installation_the_address_its_app_says_last_receives(
    app: OwnApp, ada: Contact
) -> None:
    told = make_device(ada, f"{FID}:APA91b-old", registered_from="import")
    assert app("POST", "devices", {"fid": FID, "platform": "ios"}).status_code == 200
    told.refresh_from_db()
    assert told.retired_reason == "replaced"
    assert Device.objects.get(retired_at=None).address == FID


def test_a_device_of_the_same_address_in_another_project_stays(app: OwnApp, ours: Project) -> None:
    other = make_device(make_contact(make_project(), external_id="ada"), PHONE["token"])
    app("POST", "devices", PHONE)
    app("DELETE", f"devices/{PHONE['token']}")
    other.refresh_from_db()
    assert other.active and other.contact.project != ours


def test_an_app_logs_out_its_device(app: OwnApp) -> None:
    app("POST", "devices", PHONE)
    assert app("DELETE", f"devices/{PHONE['token']}").status_code == 204
    assert Device.objects.get().retired_reason == "removed"


def test_a_device_of_somebody_else_is_none_of_ones_own(app: OwnApp, ours: Project) -> None:
    bobs = make_device(make_contact(ours, external_id="bob"))
    refused = app("DELETE", f"devices/{bobs.address}")
    unknown = app("DELETE", "devices/nobody-has-it")
    assert refused.status_code == unknown.status_code == 404
    assert refused.json() == unknown.json(), "nor is it said that there is one"
    bobs.refresh_from_db()
    assert bobs.active


def test_a_token_cannot_fill_the_table(app: OwnApp, ada: Contact) -> None:
    """Nor by registering and logging out in turn."""
    now = timezone.now()
    rows = [
        make_device(ada, f"filler-{number}", registered_at=now) for number in range(MAX_DEVICES)
    ]
    Device.objects.filter(pk__in=[row.pk for row in rows[::2]]).update(
        retired_at=now, retired_reason="removed"
    )
    refused = app("POST", "devices", PHONE)
    assert refused.status_code == 409
    assert refused.json()["type"] == "urn:carillon:too-many-devices"
    assert not Device.objects.filter(address=PHONE["token"]).exists()
    known = {"token": "filler-1", "platform": "android"}
    assert app("POST", "devices", known).status_code == 200, "one's own phone comes back"
    Device.objects.exclude(retired_at=None).update(registered_at=now - timedelta(days=31))
    assert app("POST", "devices", PHONE).status_code == 200


# --- Preferences --------------------------------------------------------------------------------


@pytest.fixture
def offers(ours: Project) -> Category:
    Category.objects.create(project=make_project(), name="Elsewhere", slug="elsewhere")
    return Category.objects.create(project=ours, name="Offers", slug="offers")


def test_an_app_reads_what_its_person_wants_to_hear(app: OwnApp, offers: Category) -> None:
    shown = app("GET", "preferences").json()
    assert shown == {
        "subscribed": True,
        "subscribed_at": None,
        "subscribed_from": "",
        "preferences": {},
        "categories": [{"slug": "offers", "name": "Offers", "kind": "marketing", "wanted": True}],
    }


def test_an_app_sets_them_by_its_persons_own_word(
    app: OwnApp, ada: Contact, offers: Category
) -> None:
    shown = app("PATCH", "preferences", {"subscribed": False, "preferences": {"offers": False}})
    assert shown.status_code == 200
    assert shown.json() == app("GET", "preferences").json()
    assert shown.json()["categories"][0]["wanted"] is False
    ada.refresh_from_db()
    assert (ada.subscribed, ada.subscribed_from) == (False, "app")
    assert ada.preferences["offers"]["wanted"] is False
    assert ada.preferences["offers"]["from"] == "app"
    told = ConsentChange.objects.values_list("contact", "category", "wanted", "source", "by")
    assert set(told) == {(ada.pk, slug, False, "app", "app") for slug in ("", "offers")}


def test_what_was_shown_can_be_sent_back_and_changes_nothing(
    app: OwnApp, ada: Contact, offers: Category
) -> None:
    app("PATCH", "preferences", {"preferences": {"offers": False}})
    shown = app("GET", "preferences").json()
    assert app("PATCH", "preferences", shown).json() == shown
    assert ConsentChange.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"attributes": {"plan": "pro"}}, "attributes"),
        ({"external_id": "bob"}, "external_id"),
        ({"contact": "bob"}, "contact"),
        ({"devices": []}, "devices"),
        ({"locale": "ko"}, "locale"),
        ({"subscribed": "no"}, "subscribed"),
        ({"preferences": {"elsewhere": False}}, "preferences.elsewhere"),
        ([], ""),
    ],
)
def test_nothing_else_of_a_person_can_be_written(
    app: OwnApp, ada: Contact, offers: Category, body: Any, field: str
) -> None:
    before = Contact.objects.values().get()
    assert fields_at_fault(app("PATCH", "preferences", body)) == [field]
    assert Contact.objects.values().get() == before


def test_the_word_of_one_person_changes_nobody_else(app: OwnApp, ours: Project) -> None:
    bob = make_contact(ours, external_id="bob")
    namesake = make_contact(make_project(), external_id="ada")
    app("PATCH", "preferences", {"subscribed": False})
    for other in (bob, namesake):
        other.refresh_from_db()
        assert other.subscribed


def test_who_is_suppressed_stays_so_and_does_not_see_it(
    app: OwnApp, ours: Project, offers: Category
) -> None:
    before = app("GET", "preferences").json()
    suppress(ours, ["ada"], reason="complaint", by="user:bob", now=timezone.now())
    assert app("GET", "preferences").json() == before
    assert app("PATCH", "preferences", {"subscribed": True}).status_code == 200
    assert app("POST", "devices", PHONE).status_code == 200
    assert Suppression.objects.get().external_id == "ada"


# --- And nothing else ---------------------------------------------------------------------------


def test_who_was_erased_is_not_brought_back(app: OwnApp, alice: Caller, ada: Contact) -> None:
    alice.delete("contacts/ada")
    calls: list[Any] = [
        ("POST", "devices", PHONE), ("DELETE", "devices/live-ada:APA91b"),
        ("GET", "preferences"), ("PATCH", "preferences", {"subscribed": True}),
    ]  # fmt: skip
    assert {app(*call).status_code for call in calls} == {404}
    assert not Contact.objects.exists() and not Device.objects.exists()


@pytest.mark.parametrize(
    "path", ["contacts", "contacts/ada", "categories", "export?contact=ada", "runs", "audiences"]
)
def test_the_doors_of_keys_do_not_open_for_it(
    ours: Project, ada: Contact, alice: Caller, path: str
) -> None:
    unknown = alice.row.prefix  # any text that is no key
    alice.key = unknown
    of_an_unknown_key = alice.get(path)
    alice.key = token_of(ours, "ada")
    refused = alice.get(path)
    assert refused.status_code == 401
    assert refused.json() == of_an_unknown_key.json()
    assert alice.post("contacts/ada/inbox-token").status_code == 401, "nor does it make another"
    assert alice.post("devices", {"contact": "ada", **PHONE}).status_code == 401


def test_its_doors_do_not_open_for_a_key(ours: Project, ada: Contact) -> None:
    _, key = ApiKey.issue(ours, "backend")
    assert OwnApp(key)("GET", "preferences").status_code == 401
