"""The web's two doors, as they are knocked at from outside: a person's pages, a program's API."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey

PATIENCE = 60.0


@dataclass(frozen=True)
class Answer:
    """`status` 0: no answer at all."""

    status: int
    seconds: float
    body: str


class Door:
    """A logged-in operator with the right to everything, and a program with a key."""

    def __init__(self, url: str, project: Project) -> None:
        self.url = url
        self.key = ApiKey.issue(project, "chaos", None)[1]
        people = get_user_model().objects
        person = people.filter(username="chaos").first() or people.create_superuser("chaos")
        client = Client()
        client.force_login(person, backend=settings.AUTHENTICATION_BACKENDS[-1])
        self.cookie = f"sessionid={client.cookies['sessionid'].value}"

    def page(self, path: str) -> Answer:
        return self._ask(path, None, {"Cookie": self.cookie})

    def api(self, path: str, body: Any = None, method: str = "") -> Answer:
        """GET, or POST with a body, or what is asked for."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        return self._ask(f"/api/v1/{path}", body, headers, method)

    def launch(self, campaign: Campaign) -> Answer:
        return self.api(f"campaigns/{campaign.pk}/launch", {})

    def _ask(self, path: str, body: Any, headers: dict[str, str], method: str = "") -> Answer:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method or None)
        began = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                status, text = reply.status, reply.read().decode()
        except urllib.error.HTTPError as refusal:
            status, text = refusal.code, refusal.read().decode()
        except OSError as error:
            status, text = 0, str(error)
        return Answer(status, time.monotonic() - began, text)
