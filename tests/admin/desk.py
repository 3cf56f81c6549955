"""A person at the desk: opens pages, fills forms, answers dialogs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

from django.contrib import admin
from django.contrib.messages import get_messages
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver, reverse

from notifications.people.project import Project


@dataclass
class Desk:
    client: Client

    def open(self, page: str, *args: Any, **query: Any) -> str:
        """The page's text, without its markup."""
        reply = self.client.get(reverse(f"admin:{page}", args=args), query)
        assert reply.status_code == 200, (page, reply.status_code)
        return text_of(reply)

    def post(self, page: str, *args: Any, **values: Any) -> HttpResponse:
        return self.client.post(reverse(f"admin:{page}", args=args), values)  # type: ignore[return-value]

    def save(self, page: str, *args: Any, **values: Any) -> str:
        """Save a form; what the page that follows says."""
        reply = self.client.post(reverse(f"admin:{page}", args=args), values, follow=True)
        assert reply.status_code == 200
        return text_of(reply)

    def confirm(self, page: str, *args: Any, **values: Any) -> HttpResponse:
        """Answer a dialog with yes."""
        return self.post(page, *args, _form_submitted="on", **values)

    def go_to(self, project: Project) -> HttpResponse:
        """Work in this project from now on."""
        return self.post("project_switch", go_to_project=project.pk)


def registered() -> dict[type[Model], Any]:
    """Every page of a model. They are read with the addresses, not with Django."""
    assert get_resolver().url_patterns
    return admin.site._registry


def text_of(reply: Any) -> str:
    html = re.sub(r"<(script|style)\b.*?</\1>", " ", reply.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def messages_of(reply: HttpResponse) -> list[str]:
    return [str(message) for message in get_messages(reply.wsgi_request)]  # type: ignore[attr-defined]
