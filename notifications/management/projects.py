"""How commands find the project an operator means."""

from __future__ import annotations

from django.core.management.base import CommandError

from notifications.people.project import Project


def project_named(slug: str) -> Project:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        slugs = ", ".join(Project.objects.values_list("slug", flat=True)[:20])
        known = slugs or "none yet; manage.py create_project makes one"
        raise CommandError(f"There is no project “{slug}”. Projects: {known}.")
    return project


def refuse_if_there(slug: str) -> None:
    if existing := Project.objects.filter(slug=slug).first():
        raise CommandError(
            f"There is a project “{slug}” already, “{existing.name}”, sending as Firebase project "
            f"{existing.firebase_project_id}. Nothing was changed."
        )
