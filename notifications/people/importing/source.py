"""Source: the bytes of an uploaded file, or of one file in an uploaded archive, from any position.

No file is unpacked to a disk or held in memory: the parts are in PostgreSQL, and are read piece by
piece.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import IO, Any

from django.db import connection
from django.utils.translation import gettext

from notifications.people.importing.model import Import

PIECE = 1024**2
MAX_FILES = 100
MAX_DIRECTORY = 256 * 1024  # bytes; the directory of 100 files has 10 to 30 kB
MAX_UNPACKED = 8 * 1024**3
MAX_RATIO = 200  # text compresses 5 to 50 times, a zip bomb a thousand times
TABLES = (".csv", ".tsv", ".txt")
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Unusable(Exception):
    """The file cannot be read; the message says why, and what to do."""


@dataclass(frozen=True)
class File:
    """One table to be read: the upload itself (without a name), or a file of the archive."""

    name: str
    size: int


class Parts(io.RawIOBase):
    """The upload as a file that can be read from any position."""

    def __init__(self, one: Import) -> None:
        sizes = list(one.parts.order_by("number").values_list("number", "size"))
        self._owner, self._numbers = one.pk, [number for number, _ in sizes]
        self._starts = [0, *accumulate(size for _, size in sizes)]
        self._at = 0

    @property
    def size(self) -> int:
        return self._starts[-1]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        piece = self._piece(min(len(buffer), PIECE))
        buffer[: len(piece)] = piece
        return len(piece)

    def _piece(self, most: int) -> bytes:
        """The next bytes, up to the end of a part at most."""
        if self._at >= self.size:
            return b""
        index = bisect_right(self._starts, self._at) - 1
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT substring(content FROM %s FOR %s) FROM notifications_importpart"
                " WHERE owner_id = %s AND number = %s",
                [self._at - self._starts[index] + 1, most, self._owner, self._numbers[index]],
            )
            row = cursor.fetchone()
        if row is None:
            raise Unusable(gettext("The bytes of the file were deleted. Upload it again."))
        piece = bytes(row[0])
        self._at += len(piece)
        return piece


class Bounded(io.BufferedReader):
    """The archive as `zipfile` reads it, with a limit for the size of its directory.

    `zipfile` reads the directory in one piece and makes an object of each entry. So a long
    directory is refused before: the end of the file says how long it is.
    """

    most: int | None = MAX_DIRECTORY

    def read(self, size: int | None = -1) -> bytes:
        if self.most is not None and size is not None and size > self.most:
            text = gettext(
                "The directory of the archive has %(size)s kB; at most %(most)s kB. "
                "Pack only the tables."
            )
            raise Unusable(text % {"size": f"{size // 1024:,}", "most": self.most // 1024})
        return super().read(size)


def files_of(one: Import) -> list[File]:
    """The files to read, in order. Raises Unusable."""
    parts = Parts(one)
    if not _is_archive(one, parts):
        return [File("", parts.size)]
    with _archive(parts) as archive:
        entries = [entry for entry in archive.infolist() if not _beside_the_point(entry)]
        _check(entries, parts.size)
        return [File(entry.filename, entry.file_size) for entry in entries]


@contextmanager
def opened(one: Import, file: File) -> Iterator[IO[bytes]]:
    """Open it for reading. Raises Unusable, also during reading, if the archive is damaged."""
    parts = Parts(one)
    if not file.name:
        yield io.BufferedReader(parts, PIECE)
        return
    try:
        with _archive(parts) as archive, archive.open(file.name) as stream:
            yield stream
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        text = gettext("The archive is damaged at “%(name)s”: %(error)s. Pack it again.")
        raise Unusable(text % {"name": file.name[:100], "error": error}) from error


def _is_archive(import_: Import, parts: Parts) -> bool:
    parts.seek(0)
    looks = parts.read(4) == b"PK\x03\x04"
    if import_.name.lower().endswith(".zip") and not looks:
        raise Unusable(gettext("The file is named .zip but is not an archive. Pack it again."))
    return looks


@contextmanager
def _archive(parts: Parts) -> Iterator[zipfile.ZipFile]:
    reader = Bounded(parts, 64 * 1024)
    try:
        archive = zipfile.ZipFile(reader)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        text = gettext("The archive cannot be opened: %(error)s. Pack it again.")
        raise Unusable(text % {"error": error}) from error
    reader.most = None
    with archive:
        yield archive


def _beside_the_point(entry: zipfile.ZipInfo) -> bool:
    """Whether the entry is a folder, or a file that macOS adds to an archive."""
    name = entry.filename
    return entry.is_dir() or name.startswith("__MACOSX/") or name.endswith(".DS_Store")


def _check(entries: list[zipfile.ZipInfo], packed: int) -> None:
    """Check the declared counts and sizes: no more of a file is read than the archive declares."""
    if not entries:
        raise Unusable(gettext("The archive is empty."))
    if len(entries) > MAX_FILES:
        text = gettext("The archive holds %(count)s files; at most %(most)s.")
        raise Unusable(text % {"count": f"{len(entries):,}", "most": MAX_FILES})
    for entry in entries:
        _check_entry(entry)
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MAX_UNPACKED:
        text = gettext("Unpacked, the archive has %(size)s MB; at most %(most)s MB. Split it.")
        values = {"size": f"{unpacked // 1024**2:,}", "most": f"{MAX_UNPACKED // 1024**2:,}"}
        raise Unusable(text % values)
    if unpacked > MAX_RATIO * packed:
        text = gettext(
            "Unpacked, the archive is %(ratio)s times as large; at most %(most)s times. "
            "It looks like a zip bomb."
        )
        raise Unusable(text % {"ratio": f"{unpacked // packed:,}", "most": MAX_RATIO})


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = {"name": entry.filename[:100]}
    if entry.flag_bits & 0x1:
        text = gettext("“%(name)s” in the archive has a password. Pack it without one.")
        raise Unusable(text % name)
    if entry.filename.lower().endswith(".zip"):
        text = gettext("“%(name)s” is an archive inside the archive. Pack the tables themselves.")
        raise Unusable(text % name)
    if not entry.filename.lower().endswith(TABLES):
        text = gettext("“%(name)s” in the archive is not one of %(kinds)s. Leave it out.")
        raise Unusable(text % {**name, "kinds": ", ".join(TABLES)})
    if entry.compress_type not in PACKED:
        text = gettext("“%(name)s” in the archive is packed in a way we do not read. Use deflate.")
        raise Unusable(text % name)
