"""An import as somebody makes it on the pages: a file goes up, its columns are named, it ends."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client
from django.urls import reverse

from notifications import imports
from notifications.people.importing.model import Import
from notifications.people.project import Project
from tests.admin.desk import Desk

FILE = b"id,first name,timezone\nu1,Ada,Asia/Seoul\nu2,Bo,Nowhere\nu3,Cy,UTC\n"


def post(client: Client, page: str, *args: Any, body: Any = None, **values: Any) -> Any:
    url = reverse(f"admin:{page}", args=args)
    if body is not None:
        return client.post(url, body, content_type="application/octet-stream")
    return client.post(url, values)


def begin(desk: Desk, project: Project, content: bytes = FILE, **values: Any) -> dict[str, Any]:
    about = {"name": "people.csv", "size": len(content), "modified": 7, **values}
    reply = post(desk.client, "import_begin", settled_project=project.pk, **about)
    assert reply.status_code == 200, reply.content
    return json.loads(reply.content)  # type: ignore[no-any-return]


def uploaded(desk: Desk, project: Project, content: bytes = FILE, **values: Any) -> Import:
    begun = begin(desk, project, content, **values)
    one = Import.objects.latest("pk")
    assert begun["parts"] == 1
    assert post(desk.client, "import_part", one.pk, 0, body=content).status_code == 200
    reply = post(desk.client, "import_finish", one.pk)
    assert reply.json() == {"url": reverse("admin:notifications_import_change", args=[one.pk])}
    one.refresh_from_db()
    return one


def mapped(one: Import, **changed: str) -> dict[str, str]:
    """What the form of step 2 sends when nothing but this is changed."""
    sent = {"mode": "add"}
    for place, column in enumerate(one.mapping):
        sent |= {f"meaning-{place}": column["meaning"], f"kind-{place}": column["type"]}
        sent[f"name-{place}"] = column["name"]
    return sent | changed


def checked(desk: Desk, project: Project, content: bytes = FILE, **changed: str) -> Import:
    one = uploaded(desk, project, content)
    post(desk.client, "import_columns", one.pk, **mapped(one, **changed))
    work(one)
    assert one.state == Import.State.CHECKED, one.problem
    return one


def work(one: Import) -> None:
    imports.work(one.pk, seconds=20)
    one.refresh_from_db()


def finished(desk: Desk, project: Project, content: bytes = FILE) -> Import:
    one = checked(desk, project, content)
    desk.confirm("notifications_import_start", one.pk)
    work(one)
    assert one.state == Import.State.FINISHED, one.problem
    return one
