"""Every answer carries the id of its request, and so does every line that was logged for it."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_project
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
MADE = re.compile(r"[0-9a-f]{32}")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the console would show."""
    handlers = logging.getLogger().handlers
    console: Any = next(one for one in handlers if one.get_name() == "console")
    written = io.StringIO()
    before = console.setStream(written)
    yield written
    console.setStream(before)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 302),
        ("/admin/login/", 200),
        ("/admin/", 302),
        ("/no/such/page", 404),
        ("/healthz", 200),
        ("/static/carillon.css", 200),
        ("/static/none.css", 404),
        ("/api/docs/", 200),
        ("/api/v1/runs", 401),
        ("/api/v1/nothing", 404),
    ],
)
def test_every_answer_carries_an_id_its_own_or_the_callers(path: str, status: int) -> None:
    first, again = Client().get(path), Client().get(path)
    assert first.status_code == status
    assert MADE.fullmatch(first["X-Request-ID"])
    assert again["X-Request-ID"] != first["X-Request-ID"]
    named = Client().get(path, headers={"X-Request-ID": "shop/7f:A_1.2=+-@"})
    assert named["X-Request-ID"] == "shop/7f:A_1.2=+-@"


def test_a_host_that_is_not_ours_is_told_the_id_of_its_refusal() -> None:
    refused = Client().get("/admin/login/", headers={"Host": "evil.example"})
    assert refused.status_code == 400
    assert MADE.fullmatch(refused["X-Request-ID"])


@pytest.mark.parametrize(
    "odd", ["", " ", "two words", "x" * 129, "naïve", "a\nb", "a\tb", '"a"', "<b>", "a\x00b", "a;b"]
)
def test_an_id_that_a_log_could_choke_on_is_replaced(odd: str) -> None:
    response = Client().get("/healthz", headers={"X-Request-ID": odd})
    assert MADE.fullmatch(response["X-Request-ID"])


def test_the_longest_id_is_kept() -> None:
    response = Client().get("/healthz", headers={"X-Request-ID": "x" * 128})
    assert response["X-Request-ID"] == "x" * 128


def test_what_is_logged_while_answering_ends_with_the_id(log: io.StringIO) -> None:
    def fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "campaigns_run" in sql:
            raise RuntimeError("broken")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail):
        answer = Caller(make_project()).get("runs", X_Request_ID="r-1")
    assert answer.status_code == 500
    failed, *traceback, refused = log.getvalue().splitlines()
    assert failed.endswith("a request failed request=r-1")
    assert traceback[-1] == "RuntimeError: broken"
    assert refused.endswith("/api/v1/runs request=r-1")


def test_what_a_caller_did_wrong_fills_no_log_and_the_next_line_has_no_id(
    log: io.StringIO,
) -> None:
    Client().get("/no/such/page", headers={"X-Request-ID": "r-2"})
    Client().get("/admin/login/", headers={"Host": "evil.example"})
    assert log.getvalue() == ""
    logging.getLogger("carillon").warning("nobody asked")
    assert log.getvalue().endswith("nobody asked\n")


def test_the_trail_says_in_which_request_something_was_done(project: Project) -> None:
    campaign = make_campaign(project)
    Caller(project).post(f"campaigns/{campaign.pk}/launch", X_Request_ID="shop-81")
    entry = AuditEntry.objects.get(action="launched")
    assert entry.request_id == "shop-81"
    desk = Desk(logged_in(Role.OPERATOR))
    assert "shop-81" in desk.open("notifications_auditentry_change", entry.pk)


def test_what_no_request_did_has_no_id_in_the_trail(project: Project) -> None:
    audit.record("carillon", "swept", "run 1", project=project)
    assert AuditEntry.objects.get().request_id == ""


def test_a_page_leaves_its_id_in_the_trail_too(project: Project) -> None:
    logged_in(Role.EDITOR).post(reverse("admin:logout"), headers={"X-Request-ID": "page-1"})
    assert AuditEntry.objects.get(action="logged out").request_id == "page-1"
