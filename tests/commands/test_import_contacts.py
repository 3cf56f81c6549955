"""`manage.py import_contacts`: the same engine as on the pages, in this process."""

from __future__ import annotations

import csv
import json
import re
from errno import EACCES
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from notifications import imports
from notifications.management.commands import import_contacts
from notifications.people.contact import Contact
from notifications.people.importing.merging import parallel_merge
from notifications.people.importing.model import Import
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_contact, make_project


@pytest.fixture
def shop(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return make_project(slug="shop")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def run(*arguments: str, stderr: StringIO | None = None) -> str:
    out, stderr = StringIO(), stderr or StringIO()
    call_command("import_contacts", *arguments, "--project", "shop", stdout=out, stderr=stderr)
    return out.getvalue()


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_the_command_imports_and_says_what_became_of_the_rows(shop: Project) -> None:
    make_contact(shop, external_id="u1", attributes={"city": "Seoul"})
    said = run(write("p.csv", "id,city\nu1,Seoul\nu2,Busan\n,Oslo\n"))
    assert "1 created" in said and "0 updated" in said
    assert "1 unchanged" in said and "1 refused" in said
    assert Contact.objects.get(external_id="u2").attributes == {"city": "Busan"}
    trail = AuditEntry.objects.filter(subject_kind="import").order_by("pk")
    assert [entry.action for entry in trail] == ["began to upload", "started", "finished"]


def test_one_bad_number_costs_its_row_and_not_the_type_of_its_column(shop: Project) -> None:
    file = write("p.csv", "id,spent\nu1,12\nu2,much\nu3,7.5\nu4,40\n")
    said = run(file, "--dry-run")
    assert "spent: attribute spent (number)" in said
    assert "3 created" in said and "1 refused" in said
    run(file)
    assert Contact.objects.get(external_id="u4").attributes == {"spent": 40}
    assert not Contact.objects.filter(external_id="u2").exists()


def test_an_encoding_that_is_guessed_wrong_is_told(shop: Project) -> None:
    Path("p.csv").write_bytes("id,city\nu1,深圳\n".encode("gb18030"))
    run("p.csv", "--encoding", "gb18030")
    assert Contact.objects.get().attributes == {"city": "深圳"}
    with pytest.raises(CommandError, match="invalid choice: 'rot13'"):
        run("p.csv", "--encoding", "rot13")


def test_the_refused_rows_come_back_once_they_are_mended(shop: Project) -> None:
    said = run(write("p.csv", 'id,city\nu1,"=cmd()"\nbulk,"=2+3"\n'))
    path = said.rpartition("reasons: ")[2].strip()
    assert Path(path).name == "p.refused.csv"
    with Path(path).open(encoding="utf-8-sig", newline="") as lines:
        head, row = csv.reader(lines)
    assert head == ["refused_line", "refused_column", "refused_reason", "id", "city"]
    assert row[0] == "3" and row[1] == "id" and row[3:] == ["bulk", "'=2+3"]
    Path(path).write_text(Path(path).read_text().replace("bulk,", "u2,"))
    assert "1 created" in run(path)
    assert Contact.objects.get(external_id="u2").attributes == {"city": "=2+3"}


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_the_refused_rows_lie_beside_the_file(
    shop: Project, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "far").mkdir()
    said = run(write("far/p.csv", "id,city\n,Oslo\n"), *options)
    assert f"reasons: {tmp_path}/far/p.refused.csv" in said
    assert (tmp_path / "far" / "p.refused.csv").exists()


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """Folders in which nobody may write, not even root."""
    folders: set[Path] = set()
    open_file = Path.open

    def refuse(path: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if "x" in mode and path.absolute().parent in folders:
            raise PermissionError(EACCES, "Permission denied", str(path))
        return open_file(path, mode, *arguments, **named)

    monkeypatch.setattr(Path, "open", refuse)
    return folders


def test_the_refused_rows_lie_here_where_nothing_can_be_written_beside_the_file(
    shop: Project, tmp_path: Path, read_only: set[Path]
) -> None:
    (tmp_path / "far").mkdir()
    read_only.add(tmp_path / "far")
    said = run(write("far/p.csv", "id,city\n,Oslo\n"))
    assert f"reasons: {tmp_path}/p.refused.csv" in said
    assert (tmp_path / "p.refused.csv").exists()


def test_an_import_whose_refused_rows_cannot_be_written_anywhere_says_so(
    shop: Project, tmp_path: Path, read_only: set[Path]
) -> None:
    read_only.add(tmp_path)
    with pytest.raises(CommandError, match=r"refused rows cannot be written: Permission denied"):
        run(write("p.csv", "id,city\n,Oslo\nu1,Rome\n"))
    assert Contact.objects.get().external_id == "u1"


def test_a_dry_run_changes_nobody_and_leaves_nothing(shop: Project) -> None:
    said = run(write("p.csv", "id,city\nu1,Seoul\n"), "--dry-run")
    assert "Nothing was changed" in said and "1 created" in said
    assert not Contact.objects.exists() and not Import.objects.exists()


def test_a_map_file_corrects_the_guess(shop: Project) -> None:
    told = {"who": "external_id", "no": {"meaning": "attribute", "name": "points", "type": "text"}}
    run(write("p.csv", "who,no\nu1,7\n"), "--map", write("m.json", json.dumps(told)))
    assert Contact.objects.get().attributes == {"points": "7"}


@pytest.mark.parametrize(
    ("text", "arguments", "problem"),
    [
        ("", [], "The file is empty"),
        ("city\nSeoul\n", [], "external id"),
        ("id\nu1\n", ["--map", "m.json"], "The file has no such column"),
        ("id\nu1\n", ["--map", "none.json"], "cannot be read"),
    ],
)
def test_what_cannot_run_says_why_and_changes_nobody(
    shop: Project, text: str, arguments: list[str], problem: str
) -> None:
    write("m.json", '{"nobody": "ignore"}')
    with pytest.raises(CommandError, match=problem):
        run(write("p.csv", text), *arguments)
    assert not Contact.objects.exists()


def test_a_map_nested_beyond_measure_is_refused_in_words(shop: Project) -> None:
    deep = write("deep.json", "[" * 100_000 + "]" * 100_000)
    with pytest.raises(CommandError, match=r"deep\.json is nested too deep"):
        run(write("p.csv", "id\nu1\n"), "--map", deep)
    assert not Import.objects.exists()


def test_the_help_says_what_the_exit_code_means(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        import_contacts.Command().create_parser("manage.py", "import_contacts").parse_args(["-h"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Exit code 0: the import ran" in said and "1: it did not" in said


def test_refused_rows_are_no_failure_and_their_number_is_on_stderr(shop: Project) -> None:
    stderr = StringIO()
    run(write("p.csv", "id,city\nu1,Seoul\n,Oslo\n,Rome\n"), stderr=stderr)
    assert "Refused: 2 of 3 rows." in stderr.getvalue()


def test_a_second_column_of_a_name_is_ignored_with_a_warning(shop: Project) -> None:
    stderr = StringIO()
    run(write("p.csv", "external_id,external_id\nu1,u2\n"), stderr=stderr)
    assert "two columns “external_id”: column 2 is ignored" in stderr.getvalue()
    assert Contact.objects.get().external_id == "u1"


@pytest.mark.parametrize(("stderr", "often"), [(StringIO(), False), (Terminal(), True)])
def test_progress_is_told_often_on_a_terminal_alone(
    shop: Project, monkeypatch: pytest.MonkeyPatch, stderr: StringIO, often: bool
) -> None:
    monkeypatch.setattr(import_contacts, "STEP_SECONDS", 0)
    monkeypatch.setattr(parallel_merge, "PEOPLE_AT_ONCE", 10)
    run(write("p.csv", "id\n" + "".join(f"u{n:02}\n" for n in range(40))), stderr=stderr)
    told = re.findall(r"\d+%", stderr.getvalue())
    assert (len(set(told)) >= 4 and told[-1] == "100%") if often else len(told) == 1


def test_an_upload_that_breaks_off_leaves_nothing(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(imports, "add_part", break_off)
    with pytest.raises(KeyboardInterrupt):
        run(write("p.csv", "id\nu1\n"))
    assert not Import.objects.exists()


def test_a_file_that_is_not_there_is_named(shop: Project) -> None:
    with pytest.raises(CommandError, match=r"nowhere\.csv cannot be read"):
        run("nowhere.csv")
