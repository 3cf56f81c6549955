"""Chosen project: the one the user works in, kept in the session. Pages show no other project.

There is no “all projects”: at a launch, nobody must wonder whose people receive it. While there is
only one project, none of this is visible.
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
    """All projects, queried once per request."""
    if not hasattr(request, ON_THE_REQUEST):
        setattr(request, ON_THE_REQUEST, list(Project.objects.order_by("name", "pk")))
    all_projects: list[Project] = getattr(request, ON_THE_REQUEST)
    return all_projects


def current_project(request: HttpRequest) -> Project | None:
    """The session's project; else the oldest one. None if there is no project at all."""
    all_projects = projects(request)
    chosen_id = request.session.get(SESSION) if hasattr(request, "session") else None
    oldest = min(all_projects, key=lambda project: project.pk, default=None)
    return next((project for project in all_projects if project.pk == chosen_id), oldest)


def named(request: HttpRequest) -> Project | None:
    """The chosen project, if the form or the query names it. Never another project."""
    mine, sent = current_project(request), request.POST if request.method == "POST" else request.GET
    named_ids = {sent.get("project"), sent.get("settled_project")}
    return mine if mine is not None and str(mine.pk) in named_ids else None


def known_project(request: HttpRequest) -> Project | None:
    """The chosen project, if this request has looked it up already. Makes no database query."""
    return current_project(request) if hasattr(request, ON_THE_REQUEST) else None


def choose(request: HttpRequest, project: Project) -> None:
    """Switch to this project, and tell the user."""
    request.session[SESSION] = project.pk
    messages.info(request, _("You are working in “%(project)s” now.") % {"project": project})


def several(request: HttpRequest) -> bool:
    return len(projects(request)) > 1


def filter_by_project(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Rows of the chosen project. The filter names it, so indexes that start with it apply."""
    return rows.filter(project=current_project(request))
