"""A script never gets a page: not where there is no address, and not where there is no way in."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import Client

from config.middleware.idle import Idle
from tests.api.caller import Caller

NOWHERE = [
    "/api",
    "/api/",
    "/api/nothing",
    "/api/v1",
    "/api/v1/",
    "/api/v1/nothing",
    "/api/v1/audiences/",
    "/api/v1/audiences/1/nothing",
    "/api/v2/audiences",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", NOWHERE)
def test_an_unknown_address_is_a_problem_to_a_program_without_a_key(
    db: None, path: str, method: str
) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.generic(method, path, b"{}", content_type="application/json")
    assert (response.status_code, response["Content-Type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_address_is_a_problem_to_a_program_with_a_key(
    alice: Caller, method: str
) -> None:
    alice.client.handler.enforce_csrf_checks = True
    response = alice(method, "audiences/1/nothing", {})
    assert response.status_code == 404
    if method != "HEAD":
        assert response.json()["detail"] == "There is no such address. See /api/docs/."


@pytest.mark.parametrize("path", ["/api/schema/", "/api/docs/"])
def test_the_reference_is_only_read(client: Client, path: str) -> None:
    response = client.post(path, b"{}", content_type="application/json")
    assert (response.status_code, response["Content-Type"]) == (405, "application/problem+json")
    assert response.json()["status"] == 405


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/api/schema/", "text/html"),
        ("/api/schema/?format=xml", "*/*"),
        ("/api/docs/", "application/json"),
        ("/api/docs/?format=xml", "nonsense"),
    ],
)
def test_an_odd_wish_is_no_reason_to_withhold_the_reference(
    client: Client, path: str, accept: str
) -> None:
    response = client.get(path, headers={"Accept": accept})
    assert response.status_code == 200
    assert b"Carillon" in response.content


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/nothing"])
def test_a_host_that_is_not_ours_is_told_so_as_a_problem(db: None, path: str) -> None:
    response = Client().post(path, headers={"Host": "evil.example"})
    assert (response.status_code, response["Content-Type"]) == (400, "application/problem+json")
    assert "This host name" in response.json()["detail"]


@pytest.mark.parametrize(("error", "status"), [(OperationalError("gone"), 503), (KeyError(), 500)])
def test_what_breaks_before_an_endpoint_is_reached_is_a_problem_too(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Idle, "__call__", fail)
    alice.client = Client(raise_request_exception=False)
    response = alice.get("runs")
    assert (response.status_code, response["Content-Type"]) == (status, "application/problem+json")
    assert ("Retry-After" in response) == (status == 503)
