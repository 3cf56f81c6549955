"""Firebase projects: FCM counts quota by them, however many of our projects send to one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings

from campaigns.forecast.other_runs.shared_gate import Gate
from campaigns.runs.chunk import ONE_WORKER
from notifications.pacing.gate import cold_rate, full_rate
from notifications.people.project import Project


@dataclass(frozen=True)
class Firebase:
    """A Firebase project, and our projects that send to it."""

    name: str
    projects: list[Project]

    @property
    def per_minute(self) -> int:
        """The quota in messages a minute: the lowest that our projects state."""
        return self.projects[0].lowest_quota

    @property
    def rate(self) -> float:
        """The messages a second that we let through."""
        return full_rate(self.projects[0])

    def own(self, project_id: int) -> Project:
        """Return the same project object: it asks the database only once which others share it."""
        return next(project for project in self.projects if project.pk == project_id)

    @property
    def gate(self) -> Gate:
        """The gate, no wider than what all workers together surely send, as in a forecast."""
        ramp = self.projects[0].longest_ramp
        climb = self.rate / ramp if ramp else 0.0
        full = min(self.rate, float(ONE_WORKER * settings.WORKERS))
        return Gate(full, cold=cold_rate(self.projects[0]), climb=climb)


def for_project(project: Project) -> Firebase:
    """Return the Firebase project of this project, which comes first in it."""
    named = Project.objects.filter(firebase_project_id=project.firebase_project_id)
    other_projects = [
        other for other in named.exclude(pk=project.pk) if other.endpoint == project.endpoint
    ]
    return Firebase(project.firebase_project_id, [project, *other_projects])


def among(projects: Iterable[Project]) -> list[Firebase]:
    """Group projects by Firebase project, in the order of their first ones."""
    by_firebase: defaultdict[tuple[str, str], list[Project]] = defaultdict(list)
    for project in projects:
        by_firebase[project.firebase_project_id, project.endpoint].append(project)
    return [Firebase(name, same) for (name, _endpoint), same in by_firebase.items()]
