"""A program that calls the API with a key, as the tests need it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from django.test import Client

from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.api import promised

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response


class Caller:
    """Says JSON, hears JSON. Every scope unless told otherwise."""

    def __init__(self, project: Project, scopes: list[str] | None = None) -> None:
        self.project = project
        self.row, self.key = ApiKey.issue(project, "test", scopes)
        self.client = Client(raise_request_exception=False)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Response:
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self.client.generic(
            method,
            f"/api/v1/{path}",
            sent,
            content_type=named.pop("content-type", "application/json"),
            headers={"Authorization": f"Bearer {self.key}", **named},
        )
        promised.check(method, response.request["PATH_INFO"], response)
        return response

    def get(self, path: str, **headers: str) -> Response:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Response:
        return self("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Response:
        return self("PUT", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Response:
        return self("PATCH", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Response:
        return self("DELETE", path, **headers)


def fields_at_fault(response: Response) -> list[str]:
    assert response["Content-Type"] == "application/problem+json"
    return [error["field"] for error in response.json()["errors"]]
