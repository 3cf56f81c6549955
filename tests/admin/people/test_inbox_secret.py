"""The inbox secret on a project's page: made, shown once, replaced, ended; and who may call."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from notifications.keys import inbox_secret
from notifications.keys.inbox_secret import InboxSecret
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.api.own_app import OwnApp, app_of
from tests.given.builders import make_contact
from tests.roles.people import logged_in

SHOWN = re.compile(r'id="inbox-secret">([0-9a-f]{12}\.[A-Za-z0-9_-]{43})<')
NEW, END = "notifications_project_new_inbox_secret", "notifications_project_end_inbox_secret"
PAGE = "notifications_project_change"


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.OPERATOR))


def made(desk: Desk, project: Project) -> str:
    found = SHOWN.search(desk.confirm(NEW, project.pk).content.decode())
    assert found
    return found[1]


def test_a_secret_is_shown_once_and_opens_what_its_row_opens(desk: Desk, project: Project) -> None:
    assert "None yet." in desk.open(PAGE, project.pk)
    name, secret = made(desk, project).split(".")
    row = InboxSecret.objects.get(project=project)
    assert (row.name, row.open()) == (name, secret)
    page = desk.open(PAGE, project.pk)
    assert name in page and secret not in page
    assert secret not in str(desk.client.session.items())
    again = desk.client.get(reverse(f"admin:{NEW}", args=[project.pk])).content.decode()
    assert secret not in again


def test_looking_at_the_question_makes_nothing(desk: Desk, project: Project) -> None:
    desk.open(NEW, project.pk)
    assert not InboxSecret.objects.exists()


def test_the_old_one_is_good_beside_the_new_until_it_is_ended(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="ada")
    made(desk, project)
    app = app_of(project, "ada")
    assert END not in address_list(desk, project), "there is no old one yet"
    made(desk, project)
    assert app("GET", "preferences").status_code == 200
    assert "the one before it is good until" in desk.open(PAGE, project.pk)
    assert END in address_list(desk, project)
    assert "“End the old inbox secret”" in text_of(desk.confirm(NEW, project.pk))
    assert InboxSecret.objects.count() == 2, "a third has to wait"

    desk.confirm(END, project.pk)
    assert app("GET", "preferences").status_code == 401
    assert app_of(project, "ada")("GET", "preferences").status_code == 200
    assert "It was not changed." in text_of(desk.confirm(END, project.pk))


def address_list(desk: Desk, project: Project) -> list[str]:
    """Of the project's buttons."""
    html = desk.client.get(reverse(f"admin:{PAGE}", args=[project.pk])).content.decode()
    return [name for name in (NEW, END) if reverse(f"admin:{name}", args=[project.pk]) in html]


def test_the_trail_says_who_made_and_ended_which_and_never_the_secret(
    desk: Desk, project: Project
) -> None:
    texts = [made(desk, project), made(desk, project)]
    desk.confirm(END, project.pk)
    first, second = InboxSecret.objects.order_by("pk")
    told = AuditEntry.objects.order_by("pk").values_list("action", "subject_kind", "subject_id")
    assert list(told) == [
        ("created", "inboxsecret", first.pk), ("created", "inboxsecret", second.pk),
        ("revoked", "inboxsecret", first.pk),
    ]  # fmt: skip
    assert set(AuditEntry.objects.values_list("project", flat=True)) == {project.pk}
    trail = str(list(AuditEntry.objects.values())) + desk.open(
        "notifications_auditentry_changelist"
    )
    assert not any(text.partition(".")[2] in trail for text in texts)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.SENDER])
def test_who_manages_no_keys_makes_and_ends_none(project: Project, role: Role) -> None:
    inbox_secret.first(project)
    inbox_secret.replace(project, now=timezone.now())
    desk = Desk(logged_in(role))
    for page in (NEW, END):
        assert desk.confirm(page, project.pk).status_code == 403
    assert InboxSecret.before(project, now=timezone.now())


def form_of(project: Project, **changed: Any) -> dict[str, Any]:
    return {
        "name": project.name, "slug": project.slug, "timezone": project.timezone,
        "firebase_project_id": project.firebase_project_id, "quota_per_minute": 600_000,
        "ramp_seconds": 0, "leave_out_unseen_days": 270, "image_hosts": "", "allowed_origins": "",
        "holdout_percent": 0, **changed,
    }  # fmt: skip


def test_origins_are_kept_as_browsers_send_them_and_the_change_is_in_the_trail(
    desk: Desk, project: Project
) -> None:
    typed = "HTTPS://Shop.example.com:443, http://localhost:5173"
    desk.save(PAGE, project.pk, **form_of(project, allowed_origins=typed))
    project.refresh_from_db()
    assert project.allowed_origins == ["https://shop.example.com", "http://localhost:5173"]
    assert AuditEntry.objects.get().changes == {
        "allowed_origins": [[], ["https://shop.example.com", "http://localhost:5173"]]
    }


@pytest.mark.parametrize("typed", ["*", "https://*.example.com", "http://shop.example.com", "x y"])
def test_what_is_no_origin_is_refused_in_words(desk: Desk, project: Project, typed: str) -> None:
    said = desk.save(PAGE, project.pk, **form_of(project, allowed_origins=typed))
    assert f"“{typed}”" in said
    project.refresh_from_db()
    assert project.allowed_origins == []


def test_a_stranger_gets_no_secret(project: Project) -> None:
    reply = Client().post(reverse(f"admin:{NEW}", args=[project.pk]), {"_form_submitted": "on"})
    assert reply.status_code == 302 and "/login/" in reply["Location"]
    assert not InboxSecret.objects.exists()
    assert OwnApp("inbox1.")("GET", "preferences").status_code == 401
