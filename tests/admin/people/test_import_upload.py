"""The first page of an import, and its file on the way up: resumed, refused, started over."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.urls import reverse

from notifications import imports
from notifications.people.importing import upload
from notifications.people.importing.model import Import
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.admin.people.import_steps import (
    FILE,
    begin,
    checked,
    post,
    uploaded,
)

pytestmark = pytest.mark.django_db


# --- Step 1 --------------------------------------------------------------------------------------


def test_the_first_page_offers_a_template_and_a_sample(desk: Desk, project: Project) -> None:
    html = desk.client.get(reverse("admin:notifications_import_add")).content.decode()
    assert reverse("admin:import_template") in html and reverse("admin:import_sample") in html


def test_a_project_is_named_only_where_there_are_several(
    desk: Desk, project: Project, request: pytest.FixtureRequest
) -> None:
    assert "go into the project" not in desk.open("notifications_import_add")
    request.getfixturevalue("museum")
    assert "The people go into the project Shop" in desk.open("notifications_import_add")


def test_the_sample_holds_a_thousand_people_that_the_import_accepts_unchanged(
    desk: Desk, project: Project
) -> None:
    reply: Any = desk.client.get(reverse("admin:import_sample"))
    assert reply.streaming
    content = b"".join(reply.streaming_content)
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert len({row["external_id"] for row in rows}) == len({row["token"] for row in rows}) == 1_000
    assert {row["locale"] for row in rows} >= {"ko", "en", "ja"}

    one = checked(desk, project, content)
    assert (one.foreseen["created"], one.refused) == (1_000, 0)
    types = {column["name"]: column["type"] for column in one.mapping if column["name"]}
    assert types["age"] == "number" and types["interests"] == "list"


def test_the_template_is_understood_without_a_change(desk: Desk, project: Project) -> None:
    reply: Any = desk.client.get(reverse("admin:import_template"))
    one = uploaded(desk, project, b"".join(reply.streaming_content))
    means = [column["meaning"] for column in one.mapping]
    assert means[:6] == ["external_id", "token", "platform", "app_version", "locale", "timezone"]
    assert means[6:] == ["subscribed", "subscribed_at", "attribute", "attribute"]


# --- The upload ----------------------------------------------------------------------------------


def test_the_same_file_goes_on_where_its_upload_stopped(desk: Desk, project: Project) -> None:
    content = b"id\n" + b"u1234567\n" * 200_000
    first = begin(desk, project, content)
    size = first["part_bytes"]
    assert (first["next"], first["has"], first["parts"]) == (0, 0, -(-len(content) // size))
    one = Import.objects.get()
    post(desk.client, "import_part", one.pk, 0, body=content[:size])

    again = begin(desk, project, content)
    assert (again["next"], again["has"]) == (1, size)
    assert again["part_url"] == first["part_url"]
    assert "people.csv 29.1 % uploaded" in desk.open("notifications_import_add")

    begin(desk, project, content, modified=8)
    assert Import.objects.count() == 2, "it was changed since: another file"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "people.xlsx"}, "is not one of .csv"),
        ({"size": 0}, "empty"),
        ({"size": "x"}, "whole number of bytes"),
        ({"size": -1}, "whole number of bytes"),
        ({"size": "9" * 5_000}, "whole number of bytes"),
        ({"size": "9" * 19}, "at most 2,048 MB"),
        ({"size": 3 * 1024**3}, "at most"),
    ],
)
def test_an_unsuitable_file_is_refused_before_its_upload(
    desk: Desk, project: Project, values: dict[str, Any], said: str
) -> None:
    about = {"name": "people.csv", "size": 9, "modified": 7, **values}
    reply = post(desk.client, "import_begin", settled_project=project.pk, **about)
    assert reply.status_code == 400 and said in reply.json()["error"]
    assert not Import.objects.exists()


@pytest.mark.parametrize("number", ["-1", "x", "9" * 30])
def test_a_part_under_no_number_is_not_found_in_json(
    desk: Desk, project: Project, number: str
) -> None:
    url = begin(desk, project)["part_url"]
    reply = desk.client.post(f"{url}{number}/", b"x", content_type="application/octet-stream")
    assert reply.status_code == 404 and "error" in reply.json()


def test_nobody_goes_on_with_the_upload_of_a_colleague(desk: Desk, project: Project) -> None:
    theirs = imports.begin(project, name="people.csv", size=len(FILE), by="user:bob")
    upload.remember(theirs, modified=7, part_bytes=upload.MOST_BYTES)
    begin(desk, project)
    assert Import.objects.exclude(pk=theirs.pk).count() == 1


def test_an_unfinished_upload_can_be_started_over(desk: Desk, project: Project) -> None:
    begin(desk, project)
    one = Import.objects.get()
    cancel = reverse("admin:import_cancel", args=[one.pk])
    for page in (
        reverse("admin:notifications_import_add"),
        reverse("admin:notifications_import_change", args=[one.pk]),
    ):
        html = desk.client.get(page).content.decode()
        assert f'action="{cancel}"' in html and "Start over" in html
    reply = desk.client.post(cancel, {}, headers={"Accept": "text/html,*/*;q=0.8"})
    assert reply.status_code == 302
    assert reply["Location"] == reverse("admin:notifications_import_add")
    assert not Import.objects.exists()


def test_a_cancelled_upload_leaves_nothing(desk: Desk, project: Project) -> None:
    begin(desk, project)
    one = Import.objects.get()
    assert post(desk.client, "import_cancel", one.pk).status_code == 200
    assert not Import.objects.exists()


def test_a_complete_upload_is_not_cancelled(desk: Desk, project: Project) -> None:
    one = uploaded(desk, project)
    assert post(desk.client, "import_cancel", one.pk).status_code == 409
    assert Import.objects.exists()


def test_a_part_after_the_end_is_refused_in_words(desk: Desk, project: Project) -> None:
    one = uploaded(desk, project)
    reply = post(desk.client, "import_part", one.pk, 1, body=b"x")
    assert reply.status_code == 409 and "error" in reply.json()


def test_the_end_of_an_upload_may_be_said_twice(desk: Desk, project: Project) -> None:
    one = uploaded(desk, project)
    assert post(desk.client, "import_finish", one.pk).status_code == 200


def test_an_upload_of_another_project_is_not_found(
    desk: Desk, project: Project, museum: Project
) -> None:
    begin(desk, project)
    one = Import.objects.get()
    desk.go_to(museum)
    reply = post(desk.client, "import_part", one.pk, 0, body=b"id\nu1\n")
    assert reply.status_code in (404, 409) and not one.parts.exists()
