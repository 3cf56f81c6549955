"""An address that is none says so, whoever asks and however: a script must never get a page."""

from __future__ import annotations

import pytest
from django.test import Client

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
