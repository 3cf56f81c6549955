"""The project one works in: one at a time, kept in the session, and nothing of another is shown.

There is no “all projects”: who launches must never wonder whose people hear it. While there is
only one project none of this can be seen.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from notifications.people.project import Project

SESSION = "project"
ON_THE_REQUEST = "_projects_found"


def projects(request: HttpRequest) -> list[Project]:
    """All of them, asked once a request."""
    if not hasattr(request, ON_THE_REQUEST):
        setattr(request, ON_THE_REQUEST, list(Project.objects.order_by("name", "pk")))
    found: list[Project] = getattr(request, ON_THE_REQUEST)
    return found


def chosen(request: HttpRequest) -> Project | None:
    """The one of the session; else the oldest. None while there is no project at all."""
    found = projects(request)
    asked = request.session.get(SESSION) if hasattr(request, "session") else None
    oldest = min(found, key=lambda project: project.pk, default=None)
    return next((project for project in found if project.pk == asked), oldest)


def named(request: HttpRequest) -> Project | None:
    """The one worked in, if the form or the question names it. There is no other to be had here."""
    mine, sent = chosen(request), request.POST if request.method == "POST" else request.GET
    said = {sent.get("project"), sent.get("settled_project")}
    return mine if mine is not None and str(mine.pk) in said else None


def seen(request: HttpRequest) -> Project | None:
    """The one a page was made in, if it asked for any: this asks the database nothing."""
    return chosen(request) if hasattr(request, ON_THE_REQUEST) else None


def choose(request: HttpRequest, project: Project) -> None:
    """Work in it from now on. The person is told."""
    request.session[SESSION] = project.pk
    messages.info(request, _("You are working in “%(project)s” now.") % {"project": project})


def several(request: HttpRequest) -> bool:
    return len(projects(request)) > 1


def within(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Only this project's, with the project named: every index that starts with it serves."""
    return rows.filter(project=chosen(request))
