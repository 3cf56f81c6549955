"""A project as a label: few of them, whatever the number of projects, and the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from notifications.people.project import Project

SHOWN = 50
OTHER = "other"


class Labels:
    """All that there are now: asked anew each time."""

    def __iter__(self) -> Iterator[str]:
        slugs = list(Project.objects.order_by("pk").values_list("slug", flat=True)[: SHOWN + 1])
        yield from slugs[:SHOWN]
        if len(slugs) > SHOWN:
            yield OTHER


PROJECTS = Labels()


def label_of(project: Project) -> str:
    """Its slug, if it is one of the oldest: a new project must not rename another's series."""
    return project.slug if _is_shown(project.pk) else OTHER


@lru_cache(1_000)
def _is_shown(pk: int) -> bool:
    return Project.objects.filter(pk__lt=pk).count() < SHOWN
