"""The trail says who did what, when, from where, and what it was before. Nobody can edit it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import ProtectedError
from django.test import Client, RequestFactory
from django.urls import reverse

from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.requests import origin
from notifications.staff import audit, changes
from notifications.staff.api_key import ApiKey
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_people
from tests.roles.people import logged_in, somebody

pytestmark = pytest.mark.django_db
PASSWORD = "a long pass phrase"


def entry_of(action: str) -> AuditEntry:
    return AuditEntry.objects.get(action=action)


def test_a_change_is_kept_with_what_it_was_before(project: Project) -> None:
    desk = Desk(logged_in(Role.OPERATOR))
    values: dict[str, Any] = {
        "name": "Shop",
        "slug": project.slug,
        "firebase_project_id": "carillon-demo",
    }
    values |= {"timezone": "Asia/Seoul", "quota_per_minute": 1200, "ramp_seconds": 0}
    was = project.quota_per_minute
    desk.save("notifications_project_change", project.pk, **values)
    entry = entry_of("changed")
    assert (entry.actor, entry.address) == ("user:operator-person", "127.0.0.1")
    assert entry.changes == {"quota_per_minute": [was, 1200]}
    shown = desk.open("notifications_auditentry_change", entry.pk)
    assert f"quota per minute {was:,} 1,200" in shown
    assert "127.0.0.1" in desk.open("notifications_auditentry_changelist")


def test_a_time_is_shown_on_the_projects_clock_and_another_zone_is_no_change(
    project: Project,
) -> None:
    Project.objects.update(timezone="Asia/Seoul")
    changes: dict[str, list[Any]] = {
        "at": ["2026-11-30 00:00:00+00:00", "2026-11-30 09:00:00+09:00"],
        "until": ["2026-11-30T01:00:00Z", "2026-12-01T02:30:00+00:00"],
        "name": ["2026-11-30", "20261130"],
    }
    audit.record("user:ada", "changed", "campaign 1", project=project, changes=changes)
    desk = Desk(logged_in(Role.OPERATOR))
    shown = desk.open("notifications_auditentry_change", entry_of("changed").pk)
    assert "30 Nov 2026, 10:00 Asia/Seoul 1 Dec 2026, 11:30 Asia/Seoul" in shown
    assert "name 2026-11-30 20261130" in shown
    assert "00:00:00" not in shown and "30 Nov 2026, 09:00" not in shown
    listed = desk.open("notifications_auditentry_changelist")
    assert "30 Nov 2026, 10:00 Asia/Seoul → 1 Dec 2026, 11:30 Asia/Seoul" in listed


def test_a_save_in_another_zone_leaves_no_change_of_the_time(project: Project) -> None:
    at = datetime(2031, 5, 7, tzinfo=UTC)
    campaign = make_campaign(project, schedule_kind="at", at=at, timezone="Asia/Seoul")
    before = changes.values_of(campaign)
    campaign.at = at.astimezone(ZoneInfo("Asia/Seoul"))
    assert changes.between(before, campaign) == {}


def test_a_launch_says_from_where(project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    url = reverse("admin:campaigns_campaign_launch", args=[campaign.pk])
    logged_in(Role.SENDER).post(url, {"_form_submitted": "on"}, REMOTE_ADDR="203.0.113.9")
    assert (entry_of("launched").actor, entry_of("launched").address) == (
        "user:sender-person",
        "203.0.113.9",
    )


def test_a_program_leaves_what_it_changed_too(project: Project) -> None:
    call = Caller(project)
    made = call.post("audiences", {"name": "All", "rules": {"all": []}}).json()
    call.put(f"audiences/{made['id']}", {"name": "Everyone", "rules": {"all": []}})
    entry = entry_of("changed")
    assert entry.actor == f"key:{call.row.prefix}"
    assert (entry.subject_kind, entry.subject_id) == ("audience", made["id"])
    assert entry.changes == {"name": ["All", "Everyone"]}
    assert entry_of("created").address == "127.0.0.1"


def test_what_a_person_is_like_does_not_enter_a_trail_that_nobody_can_erase(
    project: Project,
) -> None:
    person = make_contact(project, external_id="u1", attributes={"email": "ada@example.com"})
    desk = Desk(logged_in(Role.EDITOR))
    values = {"project": project.pk, "external_id": "u1", "locale": "en", "timezone": "UTC"}
    inline = {f"devices-{name}": 0 for name in ("TOTAL_FORMS", "INITIAL_FORMS")}
    given = {**values, **inline, "attributes": '{"email": "grace@example.com"}'}
    desk.save("notifications_contact_change", person.pk, **given)
    entry = entry_of("changed")
    assert entry.changes == {"attributes": ["…", "…"]}
    assert "example.com" not in str(entry.detail)


def test_a_person_is_in_the_trail_by_number(project: Project) -> None:
    """It outlives them: what is erased when somebody asks for it must not live on in there."""
    desk = Desk(logged_in(Role.EDITOR))
    values = {"external_id": "ada@example.com", "locale": "en", "timezone": "UTC"}
    desk.save("notifications_contact_add", **values, attributes="{}")
    person = Contact.objects.get()
    desk.save("notifications_contact_change", person.pk, **values, attributes='{"plan": "pro"}')
    desk.save("notifications_contact_delete", person.pk, post="yes")

    assert not Contact.objects.exists()
    trail = AuditEntry.objects.order_by("pk").values_list("action", "subject_id", "subject_name")
    one = (person.pk, "")
    assert list(trail) == [("created", *one), ("changed", *one), ("erased", *one)]
    kept = [*AuditEntry.objects.values(), *LogEntry.objects.values()]
    assert "example.com" not in str(kept), "neither in ours nor in Django's own"


def test_a_role_is_kept_before_and_after(db: None) -> None:
    bob = somebody(Role.VIEWER, "bob")
    values = {"username": "bob", "is_active": "on", "role": "sender"}
    Desk(logged_in(Role.OWNER)).save("auth_user_change", bob.pk, **values)
    assert entry_of("gave a role").changes == {"role": ["viewer", "sender"]}


def test_a_password_leaves_its_change_and_nothing_of_itself(db: None) -> None:
    bob = somebody(Role.VIEWER, "bob")
    new = "five quiet bells at noon"
    values = {"usable_password": "true", "password1": new, "password2": new}
    Desk(logged_in(Role.OWNER)).save("auth_user_password_change", bob.pk, **values)
    assert entry_of("set a password").about == "user bob"
    assert not any(new in str(entry.changes) or "pbkdf2" in str(entry.changes)
                   for entry in AuditEntry.objects.all())  # fmt: skip


def test_coming_and_going_is_kept(db: None) -> None:
    somebody(Role.VIEWER, "bob")
    client = Client()
    client.post(reverse("admin:login"), {"username": "bob", "password": PASSWORD})
    client.post(reverse("admin:logout"))
    trail = AuditEntry.objects.order_by("pk").values_list("actor", "action", "address")
    assert list(trail) == [
        ("user:bob", "logged in", "127.0.0.1"),
        ("user:bob", "logged out", "127.0.0.1"),
    ]


# --- Append-only --------------------------------------------------------------------------------


@pytest.fixture
def entry(project: Project) -> AuditEntry:
    audit.record("user:ada", "launched", "run 1", project=project)
    return AuditEntry.objects.get()


def test_the_database_refuses_to_change_an_entry(entry: AuditEntry) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        AuditEntry.objects.filter(pk=entry.pk).update(actor="user:eve")
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        entry.delete()
    assert AuditEntry.objects.get().actor == "user:ada"


def test_the_database_refuses_to_empty_the_trail(entry: AuditEntry) -> None:
    """All but a test's own, which is emptied between tests: hence the look at the trigger."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = 'notifications_auditentry'::regclass"
            " AND tgenabled = 'O' AND NOT tgisinternal ORDER BY 1"
        )
        found = [name for (name,) in cursor.fetchall()]
    assert found == ["audit_is_append_only", "audit_is_not_emptied"]


def test_a_project_with_a_past_is_not_deleted(entry: AuditEntry, project: Project) -> None:
    with pytest.raises(ProtectedError):
        project.delete()


def test_no_page_and_no_role_edits_the_trail(entry: AuditEntry, admin_user: User) -> None:
    client = Client()
    client.force_login(admin_user)
    for page in ("change", "delete"):
        url = reverse(f"admin:notifications_auditentry_{page}", args=[entry.pk])
        assert client.post(url, {"actor": "user:eve", "post": "yes"}).status_code == 403
    assert AuditEntry.objects.get().actor == "user:ada"


# --- From where ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proxies", "header", "found"),
    [
        (0, "198.51.100.7", "127.0.0.1"),  # anybody may write a header
        (1, "198.51.100.7", "198.51.100.7"),
        (1, "6.6.6.6, 198.51.100.7", "198.51.100.7"),
        (2, "6.6.6.6, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        (1, "", "127.0.0.1"),
        (1, "6.6.6.6, 198.51.100.7:51234", "198.51.100.7"),
        (1, "[2001:db8::1]:443", "2001:db8::1"),
        (1, "[2001:db8::1]", "2001:db8::1"),
        (1, "2001:db8::1", "2001:db8::1"),
        (1, "not an address", None),
        (1, "[", None),
    ],
)
def test_an_address_is_believed_only_from_our_own_proxies(
    settings: LazySettings, proxies: int, header: str, found: str | None
) -> None:
    settings.PROXIES = proxies
    headers: dict[str, Any] = {"X-Forwarded-For": header} if header else {}
    assert origin.address_of(RequestFactory().get("/", headers=headers)) == found


def test_a_key_keeps_its_secret_out_of_the_trail(project: Project) -> None:
    desk = Desk(logged_in(Role.OPERATOR))
    desk.save("notifications_apikey_add", project=project.pk, name="shop", scopes=["runs"])
    digest = ApiKey.objects.get().digest
    assert digest not in str(list(AuditEntry.objects.values()))


def test_an_entry_of_an_earlier_release_is_read_in_the_word_of_today(
    project: Project,
) -> None:
    audit.record("user:ada", "let be the unknown of", project, project=project)
    entry = AuditEntry.objects.latest("pk")
    assert entry.action == "let be the unknown of"  # what was written stays
    assert entry.did == "kept the unknown outcomes of" and entry.did in str(entry)
