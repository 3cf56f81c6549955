"""An entry is about a row: shown by its name of today, or by the name it had when it is gone."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import translation

from campaigns import control
from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.api_key import ApiKey
from notifications.staff.audit import AuditEntry
from notifications.staff.subjects import Subject
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.admin.lists.english import english_on
from tests.api.caller import Caller
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_people,
    make_project,
    make_run,
)
from tests.roles.people import logged_in, somebody

pytestmark = pytest.mark.django_db
TRAIL = "notifications_auditentry_changelist"


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.OWNER))


def subjects() -> list[tuple[str, int | None, str]]:
    rows = AuditEntry.objects.order_by("pk")
    return list(rows.values_list("subject_kind", "subject_id", "subject_name"))


def test_an_entry_keeps_the_kind_the_id_and_the_name(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project, name="Spring sale")
    control.pause(run, by="user:ada")
    assert subjects()[-1] == ("run", run.pk, "Spring sale")


def test_a_row_is_called_as_it_is_called_today_and_can_be_opened(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project, name="Spring sale")
    control.pause(run, by="user:ada")
    run.campaign.name = "May sale"
    run.campaign.save()
    shown = desk.client.get(reverse(f"admin:{TRAIL}")).content.decode()
    url = reverse("admin:campaigns_run_change", args=[run.pk])
    assert f'href="{url}">run {run.pk} of May sale</a>' in shown


def test_a_row_that_is_gone_is_called_as_it_was_and_leads_nowhere(
    desk: Desk, project: Project
) -> None:
    audience = make_audience(project, name="VIPs")
    pk = audience.pk
    desk.save("campaigns_audience_delete", pk, post="yes")
    entry = AuditEntry.objects.get(action="deleted")
    for page in (desk.open(TRAIL), desk.open("notifications_auditentry_change", entry.pk)):
        assert "audience VIPs" in page
    shown = desk.client.get(reverse(f"admin:{TRAIL}")).content.decode()
    assert reverse("admin:campaigns_audience_change", args=[pk]) not in shown


def test_a_korean_page_says_everything_in_korean(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project, name="봄 세일")
    control.pause(run, by="user:ada")
    audit.record("user:ada", "swept", Subject("run"), project=project)
    desk.client.cookies["django_language"] = "ko"
    shown = desk.open(TRAIL)
    said = english_on(desk.client.get(reverse(f"admin:{TRAIL}")).content.decode())
    translation.activate("en")
    assert said == []
    assert f"봄 세일의 발송 {run.pk}" in shown


def test_a_code_that_changed_is_said_as_its_page_says_it(desk: Desk, project: Project) -> None:
    bob = somebody(Role.VIEWER, "bob")
    changed: dict[str, list[Any]] = {"role": ["viewer", "sender"]}
    audit.record("user:ada", "gave a role", bob, project=None, changes=changed)
    campaign = make_campaign(project)
    was: dict[str, list[Any]] = {"on_unknown": ["resend", "hold"], "archived": [False, True]}
    audit.record("user:ada", "changed", campaign, project=project, changes=was)
    shown = desk.open(TRAIL)
    assert "Viewer → Sender" in shown and "user bob" in shown
    assert "→ Never send twice" in shown and "archived: false → true" in shown


def test_an_entry_about_a_text_shows_it(desk: Desk, project: Project) -> None:
    audit.record("user:ada", "launched", "run 81", project=project)
    assert subjects() == [("", None, "")]
    assert "run 81" in desk.open(TRAIL)
    assert "run 81" in desk.open("notifications_auditentry_change", AuditEntry.objects.get().pk)


def test_a_person_is_kept_by_number_and_called_by_name_while_they_are_there(
    desk: Desk, project: Project
) -> None:
    person = make_contact(project, external_id="ada@example.com")
    audit.record("user:ada", "changed", person, project=project)
    assert subjects() == [("contact", person.pk, "")]
    assert "person ada@example.com" in desk.open(TRAIL)
    number = person.pk
    person.delete()
    assert f"person {number}" in desk.open(TRAIL)


def test_whoever_may_not_open_a_row_reads_its_name_and_gets_no_link(project: Project) -> None:
    bob = somebody(Role.VIEWER, "bob")
    audit.record("user:ada", "set a password", bob, project=None)
    client = logged_in(Role.OPERATOR)
    shown = client.get(reverse(f"admin:{TRAIL}")).content.decode()
    assert "user bob" in shown
    assert reverse("admin:auth_user_change", args=[bob.pk]) not in shown


def test_a_program_is_called_by_the_name_of_its_key(desk: Desk, project: Project) -> None:
    call = Caller(project)
    call.post("audiences", {"name": "All", "rules": {"all": []}})
    said = f"the API key {call.row.name} ({call.row.prefix}…)"
    assert said in desk.open(TRAIL)
    assert said in desk.open("notifications_auditentry_change", AuditEntry.objects.get().pk)


def test_an_edit_over_the_api_leaves_the_entry_of_one_on_a_page(
    desk: Desk, project: Project
) -> None:
    audience = make_audience(project, name="All")
    form = {"project": project.pk, "kind": "rules", "rules": '{"all": []}'}
    desk.save("campaigns_audience_change", audience.pk, name="Everyone", **form)
    Caller(project).put(f"audiences/{audience.pk}", {"name": "All", "rules": {"all": []}})
    page, api = AuditEntry.objects.order_by("pk")
    assert subjects() == [("audience", audience.pk, "Everyone"), ("audience", audience.pk, "All")]
    assert (page.action, api.action) == ("changed", "changed")
    assert page.changes == {"name": ["All", "Everyone"]}
    assert api.changes == {"name": ["Everyone", "All"]}


# Changes, details, and what the list says of them.
SHAPES: dict[str, tuple[Any, Any, str]] = {
    "three values": ({"name": [1, 2, 3]}, {}, "name: [1, 2, 3]"),
    "a number": ({"name": 5}, {}, "name: 5"),
    "one of two is odd": ({"name": ["A", "B"], "at": {"to": 5}}, {}, "name: A → B; at: {"),
    "a list": ([1], {}, "[1]"),
    "a text": ("renamed", {}, "renamed"),
    "a list for a detail": ({}, [1], "[1]"),
    "a text for a detail": ({}, "by post", "by post"),
    "a number of fields": ({}, {"fields": 5}, "fields: 5"),
    "a list in the fields": ({}, {"fields": [["a"], "name"]}, "a, name"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_entry_of_another_shape_is_shown_as_it_stands(
    shape: str, desk: Desk, project: Project
) -> None:
    changes, detail, said = SHAPES[shape]
    make_people(project, 1)
    run = make_run(project)
    audit.record("user:ada", "moved", run, project=project)
    odd = {"actor": "user:bob", "action": "changed", "subject_kind": "run", "subject_id": run.pk}
    entry = AuditEntry.objects.create(project=project, **odd, changes=changes, detail=detail)
    assert said in desk.open(TRAIL)
    for page, pk in (
        ("notifications_auditentry_change", entry.pk),
        ("campaigns_run_change", run.pk),
    ):
        assert "bob" in desk.open(page, pk)


# --- Finding ------------------------------------------------------------------------------------


def test_a_beginning_with_blanks_is_found(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project, name="Spring sale")
    control.pause(run, by="user:ada")
    audit.record("user:bob", "launched", f"run {run.pk}1", project=project)
    for query in (f"run {run.pk}", "spring sale", "user:a"):
        assert f"run {run.pk} of Spring sale" in desk.open(TRAIL, q=query), query
    assert "Spring sale" not in desk.open(TRAIL, q="user:bob")
    assert "Spring sale" not in desk.open(TRAIL, q="z\x00")


def test_what_a_key_or_a_user_did_is_found_by_the_name_that_is_shown(
    desk: Desk, project: Project
) -> None:
    key, _secret = ApiKey.issue(project, "eng-launch")
    foreign, _secret = ApiKey.issue(make_project(), "eng-launch")
    audit.record(f"key:{key.prefix}", "launched", "ours", project=project)
    audit.record(f"key:{foreign.prefix}", "launched", "of another", project=foreign.project)
    audit.record("user:sana.kim", "paused", "of a user", project=project)
    shown = f"eng-launch ({key.prefix}…)"
    assert shown in desk.open(TRAIL)
    for query in ("eng-launch", "ENG", key.prefix, f"{key.prefix}…", key.prefix[:8], shown):
        found = desk.open(TRAIL, q=query)
        assert "ours" in found, query
        assert "of a user" not in found and "of another" not in found, query
    for query in ("sana.kim", "Sana", "user:sana"):
        found = desk.open(TRAIL, q=query)
        assert "of a user" in found and "ours" not in found, query
    assert "ours" not in desk.open(TRAIL, q="…")


def test_what_was_done_to_one_row_is_asked_of_an_index(desk: Desk, project: Project) -> None:
    one, other = make_audience(project, name="One"), make_audience(project, name="Other")
    for audience in (one, other):
        audit.record("user:ada", "changed", audience, project=project)
    asked = {"subject_kind": "audience", "subject_id": one.pk}
    with CaptureQueriesContext(connection) as queries:
        shown = desk.open(TRAIL, **asked)
    assert "audience One" in shown and "audience Other" not in shown
    [sql] = [one["sql"] for one in queries if "LIMIT 51" in one["sql"]]
    assert "audit_of_a_row" in (said := plan(sql)) and "Sort" not in said


def test_a_list_asks_once_for_each_kind(desk: Desk, project: Project) -> None:
    for number in range(5):
        audit.record("user:ada", "changed", make_audience(project, name=f"A{number}"),
                     project=project)  # fmt: skip
    with CaptureQueriesContext(connection) as queries:
        desk.open(TRAIL)
    assert len([one for one in queries if 'FROM "campaigns_audience"' in one["sql"]]) == 1


def plan(sql: str) -> str:
    """As it would be for many rows: here there are few, of which any index would do."""
    with connection.cursor() as cursor:
        cursor.execute(  # what ANALYZE writes
            "SELECT pg_restore_relation_stats('schemaname', 'public', 'relname',"
            " 'notifications_auditentry', 'relpages', 1, 'reltuples', 1000000::real)"
        )
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(line for (line,) in cursor.fetchall())
