"""Whatever is wrong with a request, the answer is a problem that names it, and nothing happened."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from campaigns.audiences.audience import Audience
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_audience

PROBLEM = "application/problem+json"
DEEP = b'{"name": "x", "rules": ' + b'{"not": ' * 500 + b'{"all": []}' + b"}" * 501


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"text"',
        b"NaN",
        b"1e999",
        b'{"name": "\\ud800"}',
        DEEP,
        b"[" * 100_000,
    ],
)
def test_a_body_that_is_no_object_is_refused(alice: Caller, body: bytes) -> None:
    response = alice.post("audiences", body)
    assert response.status_code == 400
    assert response["Content-Type"] == PROBLEM
    assert not Audience.objects.exists()


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_of_another_type_is_refused(alice: Caller, content_type: str) -> None:
    response = alice("POST", "audiences", {"name": "A"}, content_type=content_type)
    assert (response.status_code, response["Content-Type"]) == (415, PROBLEM)
    assert response.json()["detail"] == "Send the body as application/json."


def test_a_charset_after_the_type_makes_no_difference(alice: Caller) -> None:
    body = {"name": "A", "rules": {"all": []}}
    answer = alice("POST", "audiences", body, content_type="application/json; charset=utf-8")
    assert answer.status_code == 201


def test_a_huge_body_is_refused_before_it_is_read(alice: Caller) -> None:
    def read(*_: Any) -> bytes:
        raise AssertionError("the body was read")

    announced: Any = {
        "CONTENT_LENGTH": str(50 * 1024 * 1024),
        "wsgi.input": SimpleNamespace(read=read, readline=read),
    }
    headers = {"Authorization": f"Bearer {alice.key}"}
    response = Client().generic(
        "POST",
        "/api/v1/contacts/bulk",
        headers=headers,
        content_type="application/json",
        **announced,
    )
    assert (response.status_code, response["Content-Type"]) == (413, PROBLEM)


def test_a_body_without_a_length_is_refused_instead_of_taken_for_empty(alice: Caller) -> None:
    response = Client().generic(
        "POST",
        "/api/v1/runs/1/pause",
        headers={"Authorization": f"Bearer {alice.key}", "Transfer-Encoding": "chunked"},
    )
    assert response.status_code == 411


def test_a_packed_body_is_told_to_come_as_it_is(alice: Caller) -> None:
    said = alice.post("audiences", {"name": "A"}, content_encoding="gzip")
    assert (said.status_code, said["Content-Type"]) == (415, PROBLEM)
    assert "without a Content-Encoding" in said.json()["detail"]


def test_unknown_fields_are_named_and_nothing_is_written(alice: Caller) -> None:
    response = alice.post("audiences", {"nmae": "A", "rules": {"all": []}, "x\ud83d\ude00": 1})
    assert response.status_code == 400
    assert sorted(fields_at_fault(response)) == ["nmae", "x😀"]
    assert "name, rules, contacts" in response.content.decode()
    assert not Audience.objects.exists()


@pytest.mark.parametrize(
    "rules",
    [
        {"field": "locale", "op": "exists", "value": "\x00"},
        {"field": "locale", "op": "eq", "value": "\x00"},
        {"all": [], "\x00": []},
        {"field": "attributes.points", "op": "gt", "value": 10**400},
        {"field": "list", "op": "eq", "value": 10**30},
        {"field": "list", "op": "eq", "value": -1},
    ],
)
def test_what_postgresql_cannot_hold_is_refused(alice: Caller, rules: Any) -> None:
    assert alice.post("audiences", {"name": "A", "rules": rules}).status_code == 400
    assert alice.post("audiences/estimate", {"rules": rules}).status_code == 400
    assert not Audience.objects.exists()


@pytest.mark.parametrize(
    "path",
    [
        f"runs/{10**30}",
        f"runs/{2**63}",
        "runs/0",
        "audiences/1/explain",
        "contacts/%00",
        "contacts/nobody",
        "contacts/" + "x" * 5_000,
        "no/such/address",
        "runs/1e3",
        "runs/%F0%9F%98%80",
    ],
)
def test_what_is_not_there_is_a_problem_too(alice: Caller, path: str) -> None:
    response = alice.get(path)
    assert (response.status_code, response["Content-Type"]) == (404, PROBLEM)


@pytest.mark.parametrize("method", ["PATCH", "OPTIONS", "TRACE", "BREW", "FIND"])
def test_a_wrong_method_says_which_are_right(alice: Caller, method: str) -> None:
    response = alice(method, "runs")
    assert (response.status_code, response["Content-Type"]) == (405, PROBLEM)
    assert response["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("accept", ["text/csv", "application/xml", "image/png;q=x", ""])
def test_an_odd_accept_header_is_answered_with_json(alice: Caller, accept: str) -> None:
    response = alice.get("runs", Accept=accept)
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


def test_a_name_that_is_taken_is_a_conflict_that_names_the_field(
    alice: Caller, ours: Project
) -> None:
    taken = make_audience(ours)
    response = alice.post("audiences", {"name": taken.name, "rules": {"all": []}})
    assert response.status_code == 409
    assert fields_at_fault(response) == ["name"]
    assert Audience.objects.count() == 1


def test_a_busy_database_asks_to_try_again(alice: Caller) -> None:
    with connection.execute_wrapper(_too_busy):
        response = alice.post("contacts/bulk", {"contacts": [{"external_id": "u1"}]})
    assert (response.status_code, response["Content-Type"]) == (503, PROBLEM)
    assert response["Retry-After"] == "2"
    assert not Contact.objects.exists()


def _too_busy(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    """PostgreSQL itself cancels it, as it does when a lock is not granted in time."""
    if "INSERT INTO notifications_contact" in sql:
        execute("SET LOCAL statement_timeout = 1", None, False, context)
        return execute("SELECT pg_sleep(1)", None, False, context)
    return execute(sql, params, many, context)


def test_a_bug_of_ours_is_logged_and_shows_nothing_of_it(
    alice: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the secret inside")

    with connection.execute_wrapper(_failing_on("campaigns_run", fail)):
        response = alice.get("runs")
    assert (response.status_code, response["Content-Type"]) == (500, PROBLEM)
    assert "secret" not in response.content.decode()
    assert "the secret inside" in caplog.text


def _failing_on(table: str, fail: Any) -> Any:
    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        return fail() if table in sql else execute(sql, params, many, context)

    return wrapper


def test_a_problem_has_the_members_of_the_standard(alice: Caller) -> None:
    problem = json.loads(alice.post("audiences", {}).content)
    assert set(problem) == {"type", "title", "status", "detail", "errors"}
    assert problem["title"] == "Bad Request"
    assert {"field": "name", "message": "Is missing; give it."} in problem["errors"]
