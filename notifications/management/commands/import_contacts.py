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
        owner, column_map = project_named(project), _map_of(options["map"])
        try:
            import_ = _upload_file(owner, file, options["encoding"])
            if import_.state == Import.State.FAILED:
                raise CommandError(import_.problem)
            self._map(import_, column_map, mode)
            self._run(import_, dry_run=options["dry_run"])
        except (ValidationError, Import.InvalidMove) as error:
            raise CommandError(_message_of(error)) from error
        self._tell(import_, file)
        if options["dry_run"]:
            imports.discard(import_, by=BY)

    def _map(self, import_: Import, column_map: dict[str, Any], mode: str) -> None:
        head, guessed = import_.sniffed["head"], columns.columns_of(import_)
        imports.set_mapping(import_, columns.from_pairs(head, guessed, column_map), mode=mode)
        for column in columns.columns_of(import_):
            meaning = f"{column.meaning} {column.name}".strip()
            kind = f" ({column.type})" if column.meaning == columns.Meaning.ATTRIBUTE else ""
            self.stdout.write(f"  {column.head or '–'}: {meaning}{kind}")
        for name, place in _ignored_again(import_):
            self.stderr.write(f"There are two columns “{name}”: column {place} is ignored.")

    def _run(self, import_: Import, *, dry_run: bool) -> None:
        if dry_run:
            imports.check(import_, by=BY)
        else:
            imports.start(import_, by=BY, now=timezone.now())
        quiet = 0.0 if self.stderr.isatty() else QUIET_SECONDS
        told_at = -quiet
        while import_.under_way:
            if not imports.work(import_.pk, seconds=STEP_SECONDS):
                time.sleep(PAUSE_SECONDS)  # a worker was faster, and has it for a while
            import_.refresh_from_db()
            if time.monotonic() - told_at >= quiet:
                told_at = time.monotonic()
                self.stderr.write(f"{import_.share():.0%}, {import_.rows:,} rows read")
        if import_.state not in (Import.State.CHECKED, Import.State.FINISHED):
            raise CommandError(import_.problem or f"The import is {import_.state}.")

    def _tell(self, import_: Import, file: Path) -> None:
        checked = import_.state == Import.State.CHECKED
        if checked:
            self.stdout.write("Nothing was changed. An import would do this:")
        counts = import_.foreseen if checked else import_.counts
        for name, word in WORDS.items():
            if name in counts:
                self.stdout.write(f"{counts[name]:,} {word}")
        self.stdout.write(f"{import_.refused:,} refused")
        if import_.duplicates:
            self.stdout.write(f"{import_.duplicates:,} rows repeat a person; the last one counts")
            for line in _first_repeated(import_):
                self.stdout.write(f"  {line}")
        if import_.refused:
            self.stderr.write(
                f"Refused: {import_.refused:,} of {import_.rows:,} rows. "
                f"{refused.not_kept(import_)}"
            )
            self.stdout.write(f"Refused rows, with reasons: {_write_refused(import_, file)}")


def _first_repeated(import_: Import) -> Iterator[str]:
    """Where the first people who stand in several rows do so."""
    names = [file["name"] for file in import_.sniffed["files"]]
    for person in import_.sniffed.get("repeated", {}).get("first", []):
        more = person["rows"] - len(person["lines"])
        places = ", ".join(f"{names[file]} line {line}".strip() for file, line in person["lines"])
        yield places + (f" and {more:,} more" if more else "")


def _ignored_again(import_: Import) -> list[tuple[str, int]]:
    """Name and place of each column whose name another one before it has."""
    numbered = list(enumerate(columns.columns_of(import_), 1))
    first = {column.head: place for place, column in reversed(numbered)}
    return [
        (column.head, place)
        for place, column in numbered
        if place > first[column.head] and column.meaning == columns.Meaning.IGNORE
    ]


def _upload_file(project: Project, file: Path, encoding: str) -> Import:
    """If the process dies here: the upload stays for a week, and counts toward the limit of open
    ones for an hour. “Start over” on its page ends it."""
    try:
        with file.open("rb") as stream:
            import_ = imports.begin(project, name=file.name, size=file.stat().st_size, by=BY)
            try:
                _send(import_, stream)
                imports.complete(import_, encoding=encoding)
            except BaseException:
                imports.discard(import_, by=BY)
                raise
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    return import_


def _send(import_: Import, stream: IO[bytes]) -> None:
    number = 0
    while content := stream.read(PART_BYTES):
        imports.add_part(import_, number, content)
        number += 1


def _map_of(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        column_map = json.loads(path.read_text())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except RecursionError as error:
        raise CommandError(f"{path} is nested too deep.") from error
    except ValueError as error:
        raise CommandError(f"{path} is not JSON: {error}") from error
    if not isinstance(column_map, dict):
        raise CommandError(f'{path} must be an object, such as {{"User No": "external_id"}}.')
    return column_map


def _write_refused(import_: Import, file: Path) -> Path:
    try:
        with _new_file(file) as out:
            out.writelines(refused.lines(import_))
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


def _message_of(error: Exception) -> str:
    if not isinstance(error, ValidationError) or not hasattr(error, "error_dict"):
        return " ".join(getattr(error, "messages", [str(error)]))
    errors = error.message_dict.items()
    return " ".join(
        f"{name}: {' '.join(messages)}" if name else " ".join(messages) for name, messages in errors
    )
