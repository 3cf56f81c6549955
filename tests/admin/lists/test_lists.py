"""Lists that may hold a million rows: no full counts, keyset pages, prefix search by its index."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from campaigns.audiences.audience import Audience
from notifications.admin.ui import keyset
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.admin.desk import Desk, registered, text_of
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_people,
    make_project,
    make_run,
)

pytestmark = pytest.mark.django_db
PAGES = [
    "campaigns_campaign", "campaigns_run", "campaigns_audience", "campaigns_template",
    "notifications_contact", "notifications_device", "notifications_project",
    "notifications_import",
    "notifications_apikey", "notifications_auditentry", "auth_user",
]  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_every_list_opens_empty_and_full(desk: Desk, project: Project, page: str) -> None:
    desk.open(f"{page}_changelist")
    make_people(project, 2)
    make_run(project)
    desk.open(f"{page}_changelist")
    desk.open(f"{page}_changelist", q="u")


@pytest.mark.parametrize("page", PAGES)
def test_nobody_gets_in_without_a_log_in(client: Client, page: str) -> None:
    reply = client.get(reverse(f"admin:{page}_changelist"))
    assert (reply.status_code, reply["Location"][:13]) == (302, "/admin/login/")


def test_a_person_of_the_team_without_a_role_sees_nothing_and_is_told_whom_to_ask(
    client: Client, db: None
) -> None:
    client.force_login(User.objects.create_user("bob", "b@example.com", "x", is_staff=True))
    run = make_run(make_project())
    assert client.get(reverse("admin:campaigns_run_changelist")).status_code == 403
    assert client.get(reverse("admin:run_live", args=[run.pk])).status_code == 403
    assert client.post(reverse("admin:campaigns_run_pause", args=[run.pk])).status_code == 403
    told = client.get(reverse("admin:index"))
    assert told.status_code == 403 and "You have no role yet" in text_of(told)


def test_people_are_paged_by_id_in_both_directions(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registered()[Contact], "list_per_page", 2)
    a, b, c, d, e = [make_contact(project, external_id=f"{name}-id").pk for name in "abcde"]

    first = desk.open("notifications_contact_changelist")
    assert "e-id" in first and "d-id" in first and "c-id" not in first
    second = desk.open("notifications_contact_changelist", before=d)
    assert "c-id" in second and "b-id" in second and "a-id" not in second
    assert "Newer" in second and "Older" in second
    last = desk.open("notifications_contact_changelist", before=b)
    assert "a-id" in last and "Older" not in last
    assert "c-id" in desk.open("notifications_contact_changelist", after=b)
    assert "e-id" in desk.open("notifications_contact_changelist", before="x'; --")
    assert {a, c, e} <= set(Contact.objects.values_list("pk", flat=True))


def test_the_start_of_an_external_id_finds_its_people(desk: Desk, project: Project) -> None:
    for name in ("Shop-1", "shop-2", "other"):
        make_contact(project, external_id=name)
    found = desk.open("notifications_contact_changelist", q="sHoP")
    assert "Shop-1" in found and "shop-2" in found and "other" not in found
    assert "Nothing found" in desk.open("notifications_contact_changelist", q="hop")


def test_the_search_asks_in_the_form_its_index_answers(desk: Desk, project: Project) -> None:
    with CaptureQueriesContext(connection) as asked:
        desk.open("notifications_contact_changelist", q="shop")
    assert any(
        f'"project_id" = {project.pk}' in query["sql"] and "UPPER('shop%')" in query["sql"]
        for query in asked
    )


def test_no_list_counts_more_rows_than_the_cap(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyset, "COUNTED_EXACTLY", 3)
    make_people(project, 5)
    with CaptureQueriesContext(connection) as asked:
        page = desk.open("notifications_contact_changelist", q="u")
    assert "more than 3 people" in page
    counts = [q["sql"] for q in asked if "COUNT(" in q["sql"] and "contact" in q["sql"]]
    assert counts and all("LIMIT 4" in sql for sql in counts)


def test_a_count_that_would_hold_the_page_up_is_the_planners_guess(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three among a million fit: only reading all of them would tell how many there are."""
    make_people(project, 2)
    monkeypatch.setattr(keyset, "COUNTING_SECONDS", 0.05)

    def slowly(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        counts = "COUNT(" in sql and "notifications_device" in sql
        return execute(
            "SELECT pg_sleep(2)" if counts else sql, None if counts else params, many, context
        )

    with connection.execute_wrapper(slowly):
        page = desk.open("notifications_device_changelist", platform__exact="android")
    assert "android" in page.lower() and "about " in page
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_list_asks_the_same_number_of_queries_for_any_number_of_rows(
    desk: Desk, project: Project
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            for page in ("contact", "device"):
                desk.open(f"notifications_{page}_changelist")
            desk.open("campaigns_campaign_changelist")
            desk.open("campaigns_run_changelist")
        return len(asked)

    make_people(project, 1)
    make_run(project)
    desk.open("index")  # the first click is noted in the session
    few = queries()
    make_people(project, 10)
    for _ in range(5):
        make_run(project)
    assert queries() == few


def test_the_campaign_list_says_the_state_and_the_next_step(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    make_campaign(
        project,
    )
    assert "Not launched" in desk.open("campaigns_campaign_changelist")
    assert "Review and launch" in desk.open("campaigns_campaign_changelist")
    make_run(project)
    assert "Watch it" in desk.open("campaigns_campaign_changelist")


def test_the_audiences_are_counted_and_named_for_the_page_at_once(
    desk: Desk, project: Project
) -> None:
    def audiences(count: int) -> None:
        for number in range(count):
            staff = make_audience(project, name=f"Staff {number}", kind="list")
            staff.members.create(contact=make_contact(project))
            on_it = {"field": "list", "op": "eq", "value": staff.pk}
            make_audience(project, name=f"Rules {number}-{staff.pk}", rules=on_it)

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            desk.open("campaigns_audience_changelist")
        return len(asked)

    audiences(1)
    desk.open("index")  # the first click is noted in the session
    with_two = queries()
    Audience.objects.all().delete()
    audiences(6)
    assert queries() == with_two
    page = desk.open("campaigns_audience_changelist")
    assert page.count("a list of 1 person") == 6
    assert all(f"is on the list “Staff {number}”" in page for number in range(6))
