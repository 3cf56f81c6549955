"""Repeated people in a file: a sentence with their number and the lines of the first ones."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from notifications.people.importing.model import Import


def in_words(one: Import) -> str:
    """The sentence. Empty if nobody is in several rows, or an older check did not look."""
    found = one.sniffed.get("repeated", {})
    people = int(found.get("people", 0))
    if not people:
        return ""
    text = ngettext(
        "%(count)s person stands in several rows: %(lines)s.",
        "%(count)s people stand in several rows: %(lines)s.",
        people,
    )
    told = [_lines(each, one.sniffed["files"]) for each in found["first"]]
    more = people - len(told)
    if more > 0:
        told.append(_("and %(count)s more people") % {"count": f"{more:,}"})
    return text % {"count": f"{people:,}", "lines": "; ".join(told)}


def _lines(each: dict[str, Any], files: list[dict[str, Any]]) -> str:
    """A person's lines: “lines 2, 5 and 3 more”; in an archive “lines a.csv:2, b.csv:5”."""
    more = each["rows"] - len(each["lines"])
    named = len(files) > 1
    lines = ", ".join(
        f"{files[file]['name']}:{line:,}" if named else f"{line:,}" for file, line in each["lines"]
    )
    if more > 0:
        text = _("lines %(lines)s and %(more)s more")
        return text % {"lines": lines, "more": f"{more:,}"}
    return _("lines %(lines)s") % {"lines": lines}
