"""`manage.py import_contacts FILE --project SLUG`: a file of people, brought in by this process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from notifications import imports
from notifications.management.projects import project_named
from notifications.people.importing import columns, refused
from notifications.people.importing.model import Import
from notifications.people.importing.reading import ENCODINGS
from notifications.people.project import Project

BY = "carillon"
STEP_SECONDS = 5.0  # between two lines of progress on a terminal
QUIET_SECONDS = 10.0  # and in a log
PAUSE_SECONDS = 0.1
PART_BYTES = 2 * 1024**2
WORDS = {
    "created": "created", "updated": "updated", "unchanged": "unchanged",
    "moved": "devices moved to another person", "removed": "removed", "unknown": "not known here",
}  # fmt: skip


class Command(BaseCommand):
    help = (
        "Import people from a CSV, a TSV or a zip of them. Needs no worker. Invalid rows are "
        "written into a file beside it, to be corrected and imported again. "
        "Exit code 0: the import ran (refused rows are no failure; stderr says how many). "
        "1: it did not run to its end, and stderr says why. 2: the arguments are wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--mode", choices=Import.Mode.values, default=Import.Mode.ADD)
        parser.add_argument(
            "--encoding",
            choices=ENCODINGS,
            default="",
            help="of the file, if it is detected wrong",
        )
        parser.add_argument(
            "--map",
            type=Path,
            metavar="FILE.json",
            help='the meaning of columns that are guessed wrong: {"User No": "external_id"}',
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="change nobody: only count, and write the refused rows",
        )

    def handle(self, *, file: Path, project: str, mode: str, **options: Any) -> None:
        owner, told = project_named(project), _map_of(options["map"])
        try:
            one = _uploaded(owner, file, options["encoding"])
            if one.state == Import.State.FAILED:
                raise CommandError(one.problem)
            self._map(one, told, mode)
            self._run(one, dry_run=options["dry_run"])
        except (ValidationError, Import.InvalidMove) as error:
            raise CommandError(_said(error)) from error
        self._tell(one, file)
        if options["dry_run"]:
            imports.discard(one, by=BY)

    def _map(self, one: Import, told: dict[str, Any], mode: str) -> None:
        head, guessed = one.sniffed["head"], columns.columns_of(one)
        imports.set_mapping(one, columns.from_pairs(head, guessed, told), mode=mode)
        for column in columns.columns_of(one):
            shown = f"{column.meaning} {column.name}".strip()
            kind = f" ({column.type})" if column.meaning == columns.Meaning.ATTRIBUTE else ""
            self.stdout.write(f"  {column.head or '–'}: {shown}{kind}")
        for name, place in _ignored_again(one):
            self.stderr.write(f"There are two columns “{name}”: column {place} is ignored.")

    def _run(self, one: Import, *, dry_run: bool) -> None:
        if dry_run:
            imports.check(one, by=BY)
        else:
            imports.start(one, by=BY, now=timezone.now())
        quiet = 0.0 if self.stderr.isatty() else QUIET_SECONDS
        told = -quiet
        while one.under_way:
            if not imports.work(one.pk, seconds=STEP_SECONDS):
                time.sleep(PAUSE_SECONDS)  # a worker was faster, and has it for a while
            one.refresh_from_db()
            if time.monotonic() - told >= quiet:
                told = time.monotonic()
                self.stderr.write(f"{one.share():.0%}, {one.rows:,} rows read")
        if one.state not in (Import.State.CHECKED, Import.State.FINISHED):
            raise CommandError(one.problem or f"The import is {one.state}.")

    def _tell(self, one: Import, file: Path) -> None:
        checked = one.state == Import.State.CHECKED
        if checked:
            self.stdout.write("Nothing was changed. An import would do this:")
        counts = one.foreseen if checked else one.counts
        for name, word in WORDS.items():
            if name in counts:
                self.stdout.write(f"{counts[name]:,} {word}")
        self.stdout.write(f"{one.refused:,} refused")
        if one.duplicates:
            self.stdout.write(f"{one.duplicates:,} rows repeat a person; the last one counts")
            for line in _first_repeated(one):
                self.stdout.write(f"  {line}")
        if one.refused:
            self.stderr.write(
                f"Refused: {one.refused:,} of {one.rows:,} rows. {refused.not_kept(one)}"
            )
            self.stdout.write(f"Refused rows, with reasons: {_write_refused(one, file)}")


def _first_repeated(one: Import) -> Iterator[str]:
    """Where the first people who stand in several rows do so."""
    names = [file["name"] for file in one.sniffed["files"]]
    for each in one.sniffed.get("repeated", {}).get("first", []):
        more = each["rows"] - len(each["lines"])
        places = ", ".join(f"{names[file]} line {line}".strip() for file, line in each["lines"])
        yield places + (f" and {more:,} more" if more else "")


def _ignored_again(one: Import) -> list[tuple[str, int]]:
    """Name and place of each column whose name another one before it has."""
    found = list(enumerate(columns.columns_of(one), 1))
    first = {column.head: place for place, column in reversed(found)}
    return [
        (column.head, place)
        for place, column in found
        if place > first[column.head] and column.meaning == columns.Meaning.IGNORE
    ]


def _uploaded(project: Project, file: Path, encoding: str) -> Import:
    """If the process dies here: the upload stays for a week, and counts toward the limit of open
    ones for an hour. “Start over” on its page ends it."""
    try:
        with file.open("rb") as stream:
            one = imports.begin(project, name=file.name, size=file.stat().st_size, by=BY)
            try:
                _send(one, stream)
                imports.complete(one, encoding=encoding)
            except BaseException:
                imports.discard(one, by=BY)
                raise
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    return one


def _send(one: Import, stream: IO[bytes]) -> None:
    number = 0
    while content := stream.read(PART_BYTES):
        imports.add_part(one, number, content)
        number += 1


def _map_of(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        told = json.loads(path.read_text())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except RecursionError as error:
        raise CommandError(f"{path} is nested too deep.") from error
    except ValueError as error:
        raise CommandError(f"{path} is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise CommandError(f'{path} must be an object, such as {{"User No": "external_id"}}.')
    return told


def _write_refused(one: Import, file: Path) -> Path:
    try:
        with _new_file(file) as out:
            out.writelines(refused.lines(one))
    except OSError as error:
        raise CommandError(f"The refused rows cannot be written: {error.strerror}.") from error
    return Path(out.name)


def _new_file(file: Path) -> IO[str]:
    """Beside the imported file, or in the current folder if nothing can be written there."""
    try:
        return _new_file_in(file.parent.resolve(), file.stem)
    except OSError:
        return _new_file_in(Path.cwd(), file.stem)


def _new_file_in(folder: Path, stem: str) -> IO[str]:
    """Beside nobody's file of that name."""
    number = 0
    while True:
        path = folder / f"{stem}.refused{f'-{number}' if number else ''}.csv"
        try:
            return path.open("x", encoding="utf-8", newline="")
        except FileExistsError:
            number += 1


def _said(error: Exception) -> str:
    if not isinstance(error, ValidationError) or not hasattr(error, "error_dict"):
        return " ".join(getattr(error, "messages", [str(error)]))
    told = error.message_dict.items()
    return " ".join(f"{name}: {' '.join(said)}" if name else " ".join(said) for name, said in told)
