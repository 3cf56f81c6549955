"""What the page of a project posts."""

from __future__ import annotations

from typing import Any

from notifications.people.project import Project


def project_form(project: Project, hosts: str) -> dict[str, Any]:
    return {
        "name": project.name, "slug": project.slug, "timezone": "UTC",
        "firebase_project_id": project.firebase_project_id,
        "quota_per_minute": "600000", "ramp_seconds": "60", "image_hosts": hosts,
    }  # fmt: skip
