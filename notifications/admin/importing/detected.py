"""What was detected of a file, in a sentence: encoding, delimiter, head."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from notifications.people.importing.model import Import

DELIMITERS = {
    ",": gettext_lazy("commas"),
    ";": gettext_lazy("semicolons"),
    "\t": gettext_lazy("tabs"),
    "|": gettext_lazy("vertical bars"),
}
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "cp1252": gettext_lazy("Latin-1 (Windows-1252)"),
}


def in_words(one: Import) -> str:
    files, head = one.sniffed["files"], one.sniffed["head"]
    first = files[0]
    counted = ngettext(
        "%(count)s column, named in the first line.",
        "%(count)s columns, named in the first line.",
        len(head),
    )
    said = _("Detected: %(encoding)s, cells between %(delimiter)s. %(columns)s") % {
        "encoding": ENCODINGS.get(first["encoding"], first["encoding"]),
        "delimiter": DELIMITERS.get(first["delimiter"], f"“{first['delimiter']}”"),
        "columns": counted % {"count": f"{len(head):,}"},
    }
    return f"{said} {_of_an_archive(len(files))}".rstrip()


def _of_an_archive(files: int) -> str:
    if files < 2:
        return ""
    said = _("The archive holds %(count)s files with the same columns: they are read as one.")
    return said % {"count": f"{files:,}"}
