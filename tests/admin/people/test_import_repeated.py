"""People who stand in several rows of a file: how many, and in which lines."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from notifications.people.contact import Contact
from notifications.people.importing.model import Import
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.importing import check, mapped, upload

pytestmark = pytest.mark.django_db


def result(desk: Desk, project: Project, content: str | bytes, **values: Any) -> str:
    one = check(mapped(upload(project, content, **values)))
    assert one.state == Import.State.CHECKED, one.problem
    return desk.open("notifications_import_change", one.pk)


def test_the_check_names_the_lines_of_people_who_stand_in_several_rows(
    desk: Desk, project: Project
) -> None:
    rows = ["id,age", "u1,1", 'u2,"a\nb"', "u1,2", "u3,x", "u2,c", "u1,3"]
    text = result(desk, project, "\n".join(rows) + "\n")
    assert "2 people stand in several rows: lines 2, 5, 8; lines 3, 7." in text


def test_a_refused_row_is_not_among_them(desk: Desk, project: Project) -> None:
    text = result(desk, project, "id,timezone\nu1,UTC\nu1,Nowhere\nu2,UTC\nu2,Asia/Seoul\n")
    assert "1 person stands in several rows: lines 4, 5." in text


def test_of_many_the_first_are_named_and_the_others_counted(desk: Desk, project: Project) -> None:
    rows = [f"u{n % 1_000}" for n in range(6_000)]
    text = result(desk, project, "id\n" + "\n".join(rows) + "\n")
    said = "1,000 people stand in several rows: lines 2, 1,002, 2,002, 3,002 and 2 more; lines 3,"
    assert said in text and "and 995 more people." in text


def test_of_an_archive_the_file_is_named_and_the_last_file_counts(
    desk: Desk, project: Project
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", "id,city\nu9,Oslo\nu1,Seoul\n")
        archive.writestr("b.csv", "id,city\nu1,Busan\n")
    text = result(desk, project, packed.getvalue(), name="p.zip")
    assert "1 person stands in several rows: lines a.csv:3, b.csv:2." in text


def test_nothing_is_said_where_everybody_stands_in_one_row(desk: Desk, project: Project) -> None:
    assert "several rows" not in result(desk, project, "id\nu1\nu2\n")


def test_the_command_names_the_lines_too(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.csv"
    file.write_text("id,city\nu1,Seoul\nu1,Busan\n")
    call_command("import_contacts", str(file), project=project.slug)
    assert "the last one counts\n  line 2, line 3\n" in capsys.readouterr().out
    assert Contact.objects.get().attributes == {"city": "Busan"}
