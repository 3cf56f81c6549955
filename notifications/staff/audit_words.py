"""Audit words: formats an audit entry's changes and details for pages."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext

from notifications import field_names
from notifications.staff.subjects import choices_of
from notifications.staff.team import Role
from notifications.values.moments import in_zone

# Names of details that entries keep besides the values of fields.
DETAILS = (
    *(gettext_noop("added"), gettext_noop("devices"), gettext_noop("fields")),
    *(gettext_noop("left"), gettext_noop("mode"), gettext_noop("occurrences")),
    *(gettext_noop("recipients"), gettext_noop("scopes"), gettext_noop("wrong")),
    *(gettext_noop("removed"), gettext_noop("updated"), gettext_noop("rejected")),
    *(
        gettext_noop("service accounts"),
        gettext_noop("second factors"),
        gettext_noop("inbox secrets"),
        gettext_noop("copied from"),
    ),
    *(gettext_noop("revision"), gettext_noop("credentials"), gettext_noop("answers")),
)
# Codes in entries that are not choices of a model's field.
CODES = {"credentials": (gettext_noop("machine's"), gettext_noop("uploaded"))}

MOMENT = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def only_changed(changes: Any, zone: str) -> str:
    """Format only the values: “50 → 1,200”, where the action already names the field."""
    rows = before_and_after(changes, "", zone)
    return "; ".join(" → ".join(filter(None, values)) for _name, *values in rows)


def changes_in_words(changes: Any, kind: str, zone: str) -> str:
    rows = before_and_after(changes, kind, zone)
    return "; ".join(f"{name}: {' → '.join(filter(None, values))}" for name, *values in rows)


def before_and_after(changes: Any, kind: str, zone: str) -> list[tuple[str, str, str]]:
    """Return (field, before, after) for the changes of a row. Codes get the labels of its page."""
    rows = [
        (called(name), _value(a, codes, zone), _value(b, codes, zone))
        for name, (a, b) in pairs(changes)
        if not _same_instant(a, b)  # in older entries both may have different zones
        for codes in [_codes(kind, name)]
    ]
    return rows + _unknown_changes(changes)


def pairs(changes: Any) -> list[tuple[str, list[Any]]]:
    named = changes.items() if isinstance(changes, dict) else ()
    return [(name, pair) for name, pair in named if _is_pair(pair)]


def _unknown_changes(changes: Any) -> list[tuple[str, str, str]]:
    """Return changes of an unknown shape as JSON: a later release may have written them, and
    entries cannot be removed."""
    values = changes if isinstance(changes, dict) else {"changes": changes} if changes else {}
    return [
        (called(name), _json(value), "") for name, value in values.items() if not _is_pair(value)
    ]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def _same_instant(one: Any, other: Any) -> bool:
    return (moment := _moment(one)) is not None and moment == _moment(other)


def _moment(value: Any) -> datetime | None:
    """Parse a time with its offset from UTC. None: the value is something else."""
    if not isinstance(value, str) or not MOMENT.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _codes(kind: str, name: str) -> dict[Any, str]:
    if (kind, name) == ("user", "role"):  # stored in TeamMember, which has no page of its own
        return {role.value: role.word for role in Role}
    return choices_of(kind, name)


def _value(value: Any, codes: dict[Any, str], zone: str) -> str:
    if moment := _moment(value):
        return in_zone(moment, zone)
    several = value.split(",") if isinstance(value, str) else []
    if several and all(one in codes for one in several):
        return ", ".join(str(codes[one]) for one in several)
    return in_words(value)


def detail_in_words(detail: Any) -> str:
    if not isinstance(detail, dict):
        return _json(detail) if detail else ""
    parts = (
        _of_detail(name, value)
        if _names_fields(name, value)
        else f"{called(name)}: {_of_detail(name, value)}"
        for name, value in detail.items()
        if value not in (None, "", [])
    )
    return "; ".join(parts)


def _names_fields(name: str, value: Any) -> bool:
    """Whether a detail lists fields, which need no label."""
    return name == "fields" and isinstance(value, list)


# Fields that a form asks for twice, and that readers know as one.
ASKED_TWICE = {"password1": "password", "password2": "password"}


def action_in_words(action: str, detail: Any) -> str:
    """Format the action as part of a sentence, before the subject: “changed the password of”."""
    fields: Any = detail.get("fields") if isinstance(detail, dict) else None
    only = {ASKED_TWICE.get(one, one) for one in fields} if _texts(fields) else set()
    if action == "set a password" or (action == "changed" and only == {"password"}):
        return _("changed the password of")
    return _(action)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _of_detail(name: str, value: Any) -> str:
    """Format the value of a detail. Names of fields and known codes are translated; other values
    are data."""
    if name == "fields" and isinstance(value, list):
        once = dict.fromkeys(ASKED_TWICE.get(one, one) for one in value) if _texts(value) else value
        return in_words([called(one) if isinstance(one, str) else one for one in once])
    return _(value) if value in CODES.get(name, ()) else in_words(value)


def called(name: str) -> str:
    """Return a field's name on the pages."""
    if name in field_names.CALLED:
        return str(field_names.CALLED[name])
    words = name.replace("_", " ")
    found = pgettext("field", words)
    return _(words) if found == words else found


def in_words(value: Any) -> str:
    if isinstance(value, bool):
        return _("true") if value else _("false")
    if isinstance(value, list):
        return ", ".join(map(in_words, value))
    if isinstance(value, dict):
        return _json(value)
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if value in (None, "") else str(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
