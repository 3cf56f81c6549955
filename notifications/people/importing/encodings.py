"""Encodings: in which of them a file may be written, and which one its first bytes suggest.

Each can be read in pieces, and its text written back to as many bytes as it was read from.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from itertools import accumulate

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

ENCODINGS: dict[str, str | Promise] = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": _("UTF-16 (big endian)"),
    "cp949": _("Korean (CP949, EUC-KR)"),
    "cp932": _("Japanese (Shift-JIS)"),
    "gb18030": _("Simplified Chinese (GB18030)"),
    "cp950": _("Traditional Chinese (Big5)"),
    "cp1251": _("Cyrillic (Windows-1251)"),
    "cp1252": _("Western European (Windows-1252)"),
}
MOST_JUDGED = 64 * 1024  # bytes
TWO_SCRIPTS = re.compile(rb"[A-Za-z][\x80-\xff]|[\x80-\xff][A-Za-z]")  # “Zoë”, as Cyrillic “Zoл”
OLDER = ("cp1252", "cp949", "cp932", "gb18030", "cp950", "cp1251")  # than Unicode


def decoded(content: bytes, encoding: str, *, whole: bool) -> str:
    """Decode a piece up to its last whole character. Invalid bytes become lone surrogates."""
    if encoding.startswith("utf-16"):
        content = content[: len(content) - len(content) % 2]
    if whole:
        return content.decode(encoding, _errors(encoding))
    return codecs.getincrementaldecoder(encoding)(_errors(encoding)).decode(content)


def encoded_length(text: str, encoding: str) -> int:
    if text.isascii() and not encoding.startswith("utf-16"):
        return len(text)
    return len(text.encode(encoding, _errors(encoding)))


def _errors(encoding: str) -> str:
    return "surrogatepass" if encoding.startswith("utf-16") else "surrogateescape"


def likely(cells: Iterable[bytes]) -> str:
    """Which of the older ones these cells are written in, which are neither ASCII nor UTF-8.

    One wrong byte, or half of a letter at the end of a piece, rules an encoding out for
    charset-normalizer. So it gets the cells that are valid in each encoding that fits most.
    """
    from charset_normalizer import from_bytes  # here, because few processes ever need it

    different = [*dict.fromkeys(cells)]
    sizes = accumulate(map(len, different))
    few = [cell for cell, size in zip(different, sizes, strict=True) if size <= MOST_JUDGED]
    valid = {name: {cell for cell in few if _is_valid(cell, name)} for name in OLDER}
    most = max(map(len, valid.values()))
    names = [name for name in OLDER if len(valid[name]) * 5 >= most * 4]
    judged = sorted(set.intersection(*(valid[name] for name in names)))
    best = from_bytes(b"\n".join(judged), cp_isolation=names).best()
    if best is not None and best.encoding in names:
        return best.encoding
    return max(names, key=lambda name: len(valid[name]))


def _is_valid(cell: bytes, encoding: str) -> bool:
    if encoding == "cp1251" and TWO_SCRIPTS.search(cell):
        return False
    try:
        cell.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
