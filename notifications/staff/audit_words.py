"""An audit entry's changes and details, as a page says them."""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from notifications import naming

# What entries keep beside the values of fields.
DETAILS = (
    *(gettext_noop("added"), gettext_noop("devices"), gettext_noop("fields")),
    *(gettext_noop("left"), gettext_noop("mode"), gettext_noop("occurrences")),
    *(gettext_noop("recipients"), gettext_noop("scopes"), gettext_noop("wrong")),
)


def only_changed(changes: dict[str, list[Any]]) -> str:
    """“50 → 1,200”, where what was done says of which field."""
    return "; ".join(f"{in_words(a)} → {in_words(b)}" for a, b in changes.values())


def changes_in_words(changes: dict[str, list[Any]]) -> str:
    return "; ".join(
        f"{called(name)}: {in_words(a)} → {in_words(b)}" for name, (a, b) in changes.items()
    )


def detail_in_words(detail: dict[str, Any]) -> str:
    # Fields are names as well; every other value is data, or a word of the people's own.
    parts = (
        f"{called(name)}: {in_words([called(v) for v in value] if name == 'fields' else value)}"
        for name, value in detail.items()
        if value not in (None, "", [])
    )
    return "; ".join(parts)


def called(name: str) -> str:
    """A field by its name on the pages."""
    if name in naming.CALLED:
        return str(naming.CALLED[name])
    words = name.replace("_", " ")
    found = pgettext("field", words)
    return _(words) if found == words else found


def in_words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(in_words, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "–" if value in (None, "") else str(value)
