"""Repeated people in a file: a sentence with their number and the lines of the first ones."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from notifications.people.importing.model import Import


def in_words(one: Import) -> str:
    """The sentence. Empty if nobody is in several rows, or an older check did not look."""
    repeated = one.sniffed.get("repeated", {})
    people = int(repeated.get("people", 0))
    if not people:
        return ""
    text = ngettext(
        "%(count)s person stands in several rows: %(lines)s.",
        "%(count)s people stand in several rows: %(lines)s.",
        people,
    )
    parts = [_lines(person, one.sniffed["files"]) for person in repeated["first"]]
    more = people - len(parts)
    if more > 0:
        parts.append(_("and %(count)s more people") % {"count": f"{more:,}"})
    return text % {"count": f"{people:,}", "lines": "; ".join(parts)}


def _lines(person: dict[str, Any], files: list[dict[str, Any]]) -> str:
    """A person's lines: “lines 2, 5 and 3 more”; in an archive “lines a.csv:2, b.csv:5”."""
    more = person["rows"] - len(person["lines"])
    named = len(files) > 1
    lines = ", ".join(
        f"{files[file]['name']}:{line:,}" if named else f"{line:,}"
        for file, line in person["lines"]
    )
    if more > 0:
        text = _("lines %(lines)s and %(more)s more")
        return text % {"lines": lines, "more": f"{more:,}"}
    return _("lines %(lines)s") % {"lines": lines}
