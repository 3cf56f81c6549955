"""Working: reads, prepares, checks or merges an import in parts, each committed by itself.

A part and the progress after it are one transaction. If the process dies here: the worker with the
next lease does the unfinished part again, and no part is committed twice.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import IO, Any

from django.db import transaction
from django.utils import translation

from notifications.people.importing import columns, refused, staging
from notifications.people.importing.merging import parallel_merge
from notifications.people.importing.merging.parallel_merge import Ended
from notifications.people.importing.model import Fenced, Import, claim, keep, release
from notifications.people.importing.reading import (
    LONGEST_LINE,
    Block,
    decoded,
    encoded_length,
    fitting,
    parse,
    too_long,
)
from notifications.people.importing.row_validation import RowValidator
from notifications.people.importing.source import File, opened
from notifications.postgres import clock
from notifications.postgres.outage import DATABASE_TROUBLE
from notifications.values.spreadsheet import read_back

BYTES_AT_ONCE = 1024**2
LONG_LEASE = timedelta(minutes=5)  # one statement may build an index of millions of rows
# UNHANDLED: the values of an import before anybody is checked or merged. AFRESH: before its file is
# read.
UNHANDLED: dict[str, Any] = {"done_up_to": "", "ahead": {}, "handled": 0}
AFRESH: dict[str, Any] = {
    **UNHANDLED, "position": {}, "staged_at": None, "rows": 0, "refused": 0, "duplicates": 0,
    "people": 0, "foreseen": {},
}  # fmt: skip


def work_on(import_id: int, *, seconds: float, ended: Ended) -> bool:
    """Work on an import for so many seconds. Returns whether the next call has more to do.

    `ended` is called in the transaction of the last part.
    """
    import_ = claim(import_id, now=clock.now())
    if import_ is None:
        return False
    try:
        with translation.override(import_.language), suppress(Fenced):
            _work(import_, until=time.monotonic() + seconds, ended=ended)
    finally:
        with suppress(*DATABASE_TROUBLE):
            release(import_)
    import_.refresh_from_db()
    return import_.under_way


def _work(import_: Import, *, until: float, ended: Ended) -> None:
    """Do parts one after the other, each committed; at least one."""
    if staging.is_lost(import_):
        _begin_anew(import_)
    try:
        _go_on(import_, until=until, ended=ended)
    except staging.Lost:
        _begin_anew(import_)


def _go_on(import_: Import, *, until: float, ended: Ended) -> None:
    with ExitStack() as open_files:
        reading = Reading(import_, open_files)
        while import_.under_way:
            if import_.staged_at is None:
                reading.step()
            else:
                parallel_merge.merge_next_parts(import_, ended, until=until)
            if time.monotonic() >= until:
                return


def _begin_anew(import_: Import) -> None:
    """Start reading again, because the staged rows are gone. People already merged are not merged
    again, as the order is the same."""
    progress = {
        name: getattr(import_, name) for name in ("done_up_to", "ahead", "handled", "foreseen")
    }
    with transaction.atomic():
        staging.afresh(import_)
        keep(import_, now=clock.now(), **{**AFRESH, **progress})


# --- Reading ------------------------------------------------------------------------------------


@dataclass
class Reading:
    """Reads the file from where the import had stopped. `position` holds that place."""

    one: Import
    open_files: ExitStack
    _stream: IO[bytes] | None = None
    _rest: bytes = b""  # text that was read but not used yet
    _judge: RowValidator | None = field(default=None)

    def step(self) -> None:
        """Read one piece, or do one of the steps after the last piece."""
        at = dict(self.one.position) or self._start()
        if at["file"] < len(self._files):
            self._read(at)
        else:
            self._prepare(at)

    @property
    def _files(self) -> list[dict[str, Any]]:
        files: list[dict[str, Any]] = self.one.sniffed["files"]
        return files

    def _start(self) -> dict[str, Any]:
        of = sum(file["size"] for file in self._files)
        return {"read": 0, "of": of, "prepared": 0, **self._beginning_of(0)}

    def _beginning_of(self, index: int) -> dict[str, Any]:
        file = self._files[index] if index < len(self._files) else {}
        return {
            "file": index, "offset": file.get("start", 0), "line": file.get("line", 1),
            "head": True, "skipping": False,
        }  # fmt: skip

    def _read(self, at: dict[str, Any]) -> None:
        file = self._files[at["file"]]
        content, whole = self._piece(file, at["offset"])
        text = decoded(content, file["encoding"], whole=whole)
        block = self._block(text, at, file, whole=whole)
        used = encoded_length(text[: block.used], file["encoding"])
        self._rest = content[used:]
        head = at["head"] and not block.rows
        position = {**at, "offset": at["offset"] + used, "line": at["line"] + block.lines,
                    "read": at["read"] + used, "head": head}  # fmt: skip
        if whole and block.used == len(text):
            self.open_files.close()
            self._stream, self._rest = None, b""
            position |= self._beginning_of(at["file"] + 1)
        self._keep(block, position, file)

    def _piece(self, file: dict[str, Any], offset: int) -> tuple[bytes, bool]:
        """The bytes from `offset`, and whether the file ends with them.

        The piece grows while it contains no end of a row.
        """
        if self._stream is None:
            source = File(file["name"], file["size"])
            self._stream = self.open_files.enter_context(opened(self.one, source))
            self._stream.seek(offset)
            self._rest = b""
        more = self._stream.read(BYTES_AT_ONCE)
        content = self._rest + more
        return content, offset + len(content) >= file["size"] or not more

    def _block(self, text: str, at: dict[str, Any], file: dict[str, Any], *, whole: bool) -> Block:
        delimiter, width = file["delimiter"], len(self.one.sniffed["head"])
        if at["skipping"]:
            return _skip(text, at)
        block = parse(text, delimiter=delimiter, width=width, line=at["line"], whole=whole)
        if not block.used and len(text) >= LONGEST_LINE and not whole:
            at["skipping"] = True
            return Block(refused=[too_long(at["line"], text)], used=len(text))
        return block

    def _keep(self, block: Block, position: dict[str, Any], file: dict[str, Any]) -> None:
        import_, head = self.one, self.one.sniffed["head"]
        if self._judge is None:
            self._judge = RowValidator(import_, columns.columns_of(import_))
        if self.one.position.get("head", True) and block.rows:
            del block.rows[0]
        rows = list(fitting(block, len(head)))
        if refused.came_back(head):
            rows = [(line, list(map(read_back, cells))) for line, cells in rows]
        judged = self._judge.judge(rows, odd=_is_odd(rows))
        wrong = sorted([*block.refused, *judged.refused], key=lambda row: row.line)
        position |= refused.watch(import_, wrong, fits=len(judged.lines), quote=block.quote)
        with transaction.atomic():
            staging.without_waiting_for_the_disk()
            if not import_.position:
                staging.afresh(import_)
                staging.create(import_)
            staging.copy_rows(
                import_, judged.lines, judged.numbers, file=import_.position.get("file", 0)
            )
            if wrong:
                staging.copy_refused(import_, wrong, file=file["name"])
            keep(
                import_,
                now=clock.now(),
                position=position,
                rows=import_.rows + len(judged.lines) + len(wrong),
                refused=import_.refused + len(wrong),
            )

    def _prepare(self, at: dict[str, Any]) -> None:
        number = at["prepared"]
        keep(self.one, now=clock.now(), lease=LONG_LEASE)
        with transaction.atomic():
            values = staging.STEPS[number](self.one)
            done = number + 1 == len(staging.STEPS)
            staged_at = clock.now() if done else None
            position = {**at, "prepared": number + 1}
            keep(self.one, now=clock.now(), position=position, staged_at=staged_at, **values)


def _skip(text: str, at: dict[str, Any]) -> Block:
    """Skip the rest of a line that is too long."""
    line_end = text.find("\n") + 1
    at["skipping"] = not line_end
    return Block(used=line_end or len(text), lines=int(bool(line_end)))


def _is_odd(rows: list[tuple[int, list[str]]]) -> bool:
    """Whether any cell contains a NUL or half of a character."""
    text = "".join(["".join(cells) for _, cells in rows])
    if "\x00" in text:
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
