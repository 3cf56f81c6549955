"""How commands find the project an operator means."""

from __future__ import annotations

from django.core.management.base import CommandError

from notifications.project import Project


def project_named(slug: str) -> Project:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        known = ", ".join(Project.objects.values_list("slug", flat=True)[:20]) or "none yet"
        raise CommandError(f"There is no project “{slug}”. Projects: {known}.")
    return project
