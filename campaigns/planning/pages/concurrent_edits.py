"""Concurrent edits of a campaign: the second user sees who saved what, and loses nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.forms import BooleanField, Field, MultipleChoiceField
from django.utils.translation import gettext as _

from campaigns.runs import policy
from campaigns.texts.content import TEXTS
from campaigns.texts.pages import edit_conflicts
from campaigns.texts.pages.edit_conflicts import OtherEdits
from notifications.staff import audit
from notifications.values import row_versions

TICKED = "on"  # as browsers post it; for an empty box they post nothing
GUARDED = ("name", "audience", "template", *policy.GUARDED)


def token(form: Any) -> str:
    """The values that the page shows. The form posts them back with the user's edit."""
    return row_versions.carried({"was": _initial_values(form)})


def brought_in(form: Any) -> tuple[Any, OtherEdits | None]:
    """The posted data merged with a colleague's changes, and these changes, or None."""
    was, theirs = row_versions.parse(form.data.get("seen", "")).get("was"), _initial_values(form)
    if not isinstance(was, dict):
        return form.data, None
    base = {name: str(was.get(name, "")) for name in theirs}
    mine = {name: _posted_value(form.fields[name], form.data, name) for name in theirs}
    merged = edit_conflicts.merge_edits(base, mine, theirs)
    if merged is None:
        return form.data, None
    data = form.data.copy()
    for change in merged.taken:
        name = change.path[0]
        data.setlist(name, _split_value(form.fields[name], change.after))
    data["seen"] = token(form)
    by = audit.who_changed(form.instance, form.instance.template)
    return data, OtherEdits([by], merged.taken, merged.disputed)


def describe_edits(form: Any, found: OtherEdits) -> str:
    intro = _("%(who)s saved this campaign while you were editing. Nothing of yours is saved yet: "
            "look below, then save again.") % {"who": ", ".join(found.by)}  # fmt: skip
    labels = {name: str(field.label) for name, field in form.fields.items()}
    parts = [intro, *edit_conflicts.taken_over(found.taken, labels)]
    for change in found.disputed:
        name = change.path[0]
        theirs = _in_words(form.fields[name], change.after) or "–"
        words = {"name": labels[name], "theirs": theirs}
        parts.append(_("%(name)s: yours is kept, theirs was “%(theirs)s”.") % words)
    return " ".join(parts)


def _initial_values(form: Any) -> dict[str, str]:
    """The values as the browser posts them if nobody edits the form."""
    names = (*GUARDED, *TEXTS) if form.text else GUARDED
    return {name: _posted(form.fields[name], form.initial.get(name)) for name in names}


def _posted_value(field: Field, data: Any, name: str) -> str:
    """A field's posted value. Several boxes of one field are one text."""
    if isinstance(field, MultipleChoiceField):
        return ",".join(data.getlist(name))
    return str(data.get(name, ""))


def _split_value(field: Field, posted: str) -> list[str]:
    several = isinstance(field, MultipleChoiceField)
    return [part for part in posted.split(",") if part] if several else [posted]


def _posted(field: Field, value: Any) -> str:
    value = field.prepare_value(value)
    if isinstance(field, MultipleChoiceField):
        return ",".join(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M}"
    if isinstance(field, BooleanField):
        return TICKED if value else ""
    return "" if value is None else str(value)


def _in_words(field: Field, value: str) -> str:
    if isinstance(field, BooleanField):
        return _("Yes") if value else ""
    choices: Any = getattr(field, "choices", None) or getattr(field.widget, "choices", ())
    named = {str(key): str(label) for key, label in choices}
    return ", ".join(named.get(part, part) for part in _split_value(field, value))
