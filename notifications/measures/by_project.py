"""A project as a label: few of them, whatever the number of projects, and the same everywhere."""

from __future__ import annotations

from functools import lru_cache

from notifications.people.project import Project

SHOWN = 50
OTHER = "other"


def label_of(project: Project) -> str:
    """Its slug, if it is one of the oldest: a new project must not rename another's series."""
    return project.slug if _is_shown(project.pk) else OTHER


@lru_cache(1_000)
def _is_shown(pk: int) -> bool:
    return Project.objects.filter(pk__lt=pk).count() < SHOWN
