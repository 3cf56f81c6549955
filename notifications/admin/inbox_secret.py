"""The dialogs around a project's inbox secret: make a new one, end the one before it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from notifications.admin.furniture.dialogs import DRAWN, Dialog, FinalDialog
from notifications.admin.furniture.page import page_url
from notifications.keys.inbox_secret import InboxSecret
from notifications.people.project import Project
from notifications.values.moments import in_zone


def standing(project: Project) -> SafeString:
    """Which is in force since when, and until when the one before it is good."""
    secret = InboxSecret.in_force(project)
    if secret is None:
        hint = _("One is made with the first token that the API makes, or above.")
        return format_html("{} <span class='c-hint'>{}</span>", _("None yet."), hint)
    said = _("since %(when)s") % {"when": in_zone(secret.created_at, project.timezone)}
    if (until := good_until(project)) is not None:
        older = _("the one before it is good until %(when)s") % {"when": until}
        said = f"{said}; {older}"
    return format_html("{}… <span class='c-hint'>{}</span>", secret.name, said)


def good_until(project: Project) -> str | None:
    """Of the one before."""
    before = InboxSecret.before(project, now=timezone.now())
    return in_zone(before.ends_at, project.timezone) if before else None


class _OfProject(Dialog):
    @cached_property
    def project(self) -> Project:
        return Project.objects.get(pk=self.object_id or 0)

    def context(self) -> dict[str, Any]:
        return {"until": good_until(self.project), "known": InboxSecret.in_force(self.project)}


class NewSecretDialog(_OfProject):
    template = "admin/notifications/inbox_secret_new.html"
    wide = True

    @property
    def possible(self) -> bool:
        return good_until(self.project) is None


class MadeDialog(Dialog):
    """Answered here and not after a redirect: no cookie or session ever holds the secret."""

    template = "admin/notifications/inbox_secret_made.html"
    project: Project
    text: str

    @property
    def possible(self) -> bool:
        return False

    def context(self) -> dict[str, Any]:
        return {"text": self.text, "page": page_url(self.project)}


def made(request: Any, project: Project, text: str) -> HttpResponse:
    form = MadeDialog(request)
    form.project, form.text = project, text
    return render(request, DRAWN, {"form": form, "dialog": {"title": _("New inbox secret")}})


class EndSecretDialog(_OfProject, FinalDialog):
    template = "admin/notifications/inbox_secret_end.html"

    @property
    def possible(self) -> bool:
        return good_until(self.project) is not None
