"""Project labels for metrics: a limited number of values, and the same ones in every process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from notifications.people.project import Project

SHOWN = 50
OTHER = "other"


class Labels:
    """The label values of all projects, read from the database at each use."""

    def __iter__(self) -> Iterator[str]:
        slugs = list(Project.objects.order_by("pk").values_list("slug", flat=True)[: SHOWN + 1])
        yield from slugs[:SHOWN]
        if len(slugs) > SHOWN:
            yield OTHER


PROJECTS = Labels()


def label_of(project: Project) -> str:
    """Return the project's slug if it is one of the oldest, else “other”. A new project must not
    rename another's series."""
    return project.slug if _is_shown(project.pk) else OTHER


@lru_cache(1_000)
def _is_shown(pk: int) -> bool:
    return Project.objects.filter(pk__lt=pk).count() < SHOWN
