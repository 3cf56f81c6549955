"""Dialogs for a project's inbox secret: create a new one, end the previous one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from notifications.admin.ui.dialogs import DRAWN, Dialog, FinalDialog
from notifications.admin.ui.page import page_url
from notifications.keys.inbox_secret import InboxSecret
from notifications.people.project import Project
from notifications.values.moments import in_zone


def standing(project: Project) -> SafeString:
    """HTML for the project's page: the secret's age, when the previous one ends, the actions."""
    secret = InboxSecret.in_force(project)
    since = in_zone(secret.created_at, project.timezone) if secret else ""
    context = {
        "project": project, "secret": secret, "since": since, "until": good_until(project),
    }  # fmt: skip
    return render_to_string("admin/notifications/project/inbox_secret.html", context)


def good_until(project: Project) -> str | None:
    """When the previous secret ends, as text; None if there is none."""
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
    """Shows the new secret without a redirect, so that no cookie or session ever holds it."""

    template = "admin/notifications/inbox_secret_made.html"
    project: Project
    text: str

    @property
    def possible(self) -> bool:
        return False

    def context(self) -> dict[str, Any]:
        return {"text": self.text, "page": page_url(self.project)}


def show_secret(request: Any, project: Project, text: str) -> HttpResponse:
    form = MadeDialog(request)
    form.project, form.text = project, text
    return render(request, DRAWN, {"form": form, "dialog": {"title": _("New inbox secret")}})


class EndSecretDialog(_OfProject, FinalDialog):
    template = "admin/notifications/inbox_secret_end.html"

    @property
    def possible(self) -> bool:
        return good_until(self.project) is not None
