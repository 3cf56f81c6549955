"""One person's own app, which holds an inbox token and no key."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.test import Client
from django.utils import timezone

from notifications.keys import inbox_secret, inbox_token
from notifications.people.project import Project
from tests.api import promised

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response


@dataclass
class OwnApp:
    """Says JSON, hears JSON, to the doors below `me/`."""

    token: str
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Response:
        response = self.client.generic(
            method,
            f"/api/v1/me/{path}",
            b"" if body is None else json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.token}", **headers},
        )
        promised.check(method, response.request["PATH_INFO"], response)
        return response


def token_of(project: Project, external_id: str, **lasting: float) -> str:
    secret, _ = inbox_secret.first(project)
    expires_at = timezone.now() + timedelta(**lasting or {"hours": 1})
    return inbox_token.make(secret, external_id, expires_at=expires_at)


def app_of(project: Project, external_id: str, **lasting: float) -> OwnApp:
    return OwnApp(token_of(project, external_id, **lasting))
