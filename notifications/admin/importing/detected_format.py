"""Detected format of a file: its encoding as a choice, the rest as a sentence."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from notifications.people.importing.model import Import
from notifications.people.importing.reading import ENCODINGS

DELIMITERS = {
    ",": gettext_lazy("commas"),
    ";": gettext_lazy("semicolons"),
    "\t": gettext_lazy("tabs"),
    "|": gettext_lazy("vertical bars"),
}


def encodings(one: Import) -> list[tuple[str, str]]:
    """Choices for the encoding. The first one is the detected encoding."""
    detected = {file.get("detected", file["encoding"]) for file in one.sniffed["files"]}
    text = _("Detected for each file")
    if len(detected) == 1:
        text = _("Detected: %(encoding)s") % {"encoding": ENCODINGS[detected.pop()]}
    return [("", text), *((name, str(label)) for name, label in ENCODINGS.items())]


def in_words(one: Import) -> str:
    files, head = one.sniffed["files"], one.sniffed["head"]
    first = files[0]
    counted = ngettext(
        "%(count)s column, named in the first line.",
        "%(count)s columns, named in the first line.",
        len(head),
    )
    text = _("Cells between %(delimiter)s. %(columns)s") % {
        "delimiter": DELIMITERS.get(first["delimiter"], f"“{first['delimiter']}”"),
        "columns": counted % {"count": f"{len(head):,}"},
    }
    return f"{text} {_describe_archive(len(files))}".rstrip()


def _describe_archive(files: int) -> str:
    if files < 2:
        return ""
    text = _("The archive holds %(count)s files with the same columns: they are read as one.")
    return text % {"count": f"{files:,}"}
