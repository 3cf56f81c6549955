"""No page counts, sorts or skips through a table that may hold millions of rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from campaigns.results import recipients
from campaigns.results.recipients import Filters
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk
from tests.given.builders import make_people, make_project, make_run

pytestmark = pytest.mark.django_db
LARGE = [model._meta.db_table for model in (Contact, Device, Recipient, Delivery, AuditEntry)]
LISTS = [
    ("notifications_contact", {}),
    ("notifications_contact", {"q": "u1"}),
    ("notifications_contact", {"before": "9"}),
    ("notifications_device", {}),
    ("notifications_device", {"platform__exact": "ios"}),
    ("notifications_device", {"state": "retired"}),
    ("notifications_device", {"q": "APA91b"}),
    ("notifications_auditentry", {"q": "user:ada"}),
    ("campaigns_campaign", {}),
    ("campaigns_audience", {}),
    ("campaigns_run", {"state__exact": "finished"}),
]


@pytest.fixture
def run(project: Project) -> Run:
    make_people(project, 3)
    return make_run(project)


def unbounded(asked: CaptureQueriesContext) -> list[str]:
    """Statements that would read a large table to its end, or step over a part of it."""
    about = [one["sql"] for one in asked if any(f"{table}" in one["sql"] for table in LARGE)]
    counts = re.compile(r"\bcount\(", re.I)
    return [
        sql
        for sql in about
        if (counts.search(sql) and "LIMIT" not in sql) or re.search(r"\bOFFSET [1-9]", sql)
    ]


@pytest.mark.parametrize(("page", "query"), LISTS, ids=str)
def test_no_list_reads_a_large_table_to_its_end(
    desk: Desk, run: Run, page: str, query: dict[str, str]
) -> None:
    with CaptureQueriesContext(connection) as asked:
        desk.open(f"{page}_changelist", **query)
    assert unbounded(asked) == []


def test_no_run_person_or_overview_reads_a_large_table_to_its_end(
    desk: Desk, run: Run, project: Project
) -> None:
    contact = Contact.objects.latest("pk")
    with CaptureQueriesContext(connection) as asked:
        desk.open("index")
        desk.open("campaigns_overview")
        desk.open("campaigns_calendar")
        desk.open("campaigns_run_change", run.pk)
        desk.open("run_live", run.pk)
        for asked_for in ({}, {"status": "rejected"}, {"platform": "ios"}, {"reason": "expired"}):
            desk.open("run_deliveries", run.pk, **asked_for)
        desk.open("notifications_contact_change", contact.pk)
        desk.open("person_sent", contact.pk)
        desk.open("person_messages", contact.pk)
    assert unbounded(asked) == []


def test_no_list_of_the_api_reads_a_large_table_to_its_end(
    desk: Desk, run: Run, project: Project
) -> None:
    _row, key = ApiKey.issue(project, "crm")
    headers: dict[str, Any] = {"Authorization": f"Bearer {key}"}
    with CaptureQueriesContext(connection) as asked:
        for path in ("audiences", "templates", "campaigns", "runs", f"runs/{run.pk}/deliveries"):
            assert desk.client.get(f"/api/v1/{path}", headers=headers).status_code == 200
    assert unbounded(asked) == []


def test_a_page_of_people_and_of_devices_is_read_by_its_index(desk: Desk, run: Run) -> None:
    make_people(make_project(), 2_000)  # whom the index leaves out
    for page, index in (
        ("notifications_contact", "contacts_of_project"),
        ("notifications_device", "devices_of_project"),
    ):
        with CaptureQueriesContext(connection) as asked:
            desk.client.get(reverse(f"admin:{page}_changelist"), {"before": "1000000"})
        [sql] = [one["sql"] for one in asked if f'"{page}"."id" < 1000000' in one["sql"]]
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {page}")
        plan = _plan(sql)
        assert f"using {index}" in plan and "Sort" not in plan, plan


def test_a_page_of_recipients_is_read_chunk_by_chunk(run: Run) -> None:
    for asked_for in (Filters(), Filters(status="rejected"), Filters(platform="ios")):
        with CaptureQueriesContext(connection) as asked:
            recipients.page(run, asked_for, after=0, limit=101)
        plan = _plan(asked[-1]["sql"])
        assert "one_chunk_per_number" in plan, plan
        part = f"campaigns_recipient_run_{run.pk}"
        found = rf"using {part}_pkey on {part} .*\n\s+Index Cond: \((.*)\)"
        [condition] = re.findall(found, plan)
        assert "run_id =" in condition and "seq >= k.first_seq" in condition, plan
        assert "seq <= k.last_seq" in condition and "Seq Scan on campaigns_" not in plan, plan


def _plan(sql: str) -> str:
    """As it would be for many rows: here there are three, which nobody needs an index for."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(row[0] for row in cursor.fetchall())
