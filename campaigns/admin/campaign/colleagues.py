"""Two people edit one campaign: the second sees who saved what, and loses nothing.

The page carries what it showed. What only the colleague changed is brought in; where both changed
a field, one's own stays and theirs is named. Nothing is saved until one has looked.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.forms import Field
from django.utils.translation import gettext as _

from campaigns.planning.campaign import WHEN, Campaign
from campaigns.runs.run import POLICY
from campaigns.texts.content import TEXTS
from notifications.staff import audit

GUARDED = ("name", "audience", "template", *WHEN, *POLICY)


@dataclass(frozen=True)
class Meanwhile:
    """Who saved, and per field that differs what theirs is; `mine` is kept there."""

    by: str
    taken: list[str]
    disputed: list[tuple[str, str]]

    @property
    def said(self) -> str:
        parts = [_("%(who)s saved this campaign while you were editing. Nothing of yours is saved "
                   "yet: look below, then save again.") % {"who": self.by}]  # fmt: skip
        if self.taken:
            parts.append(_("Taken over from them: %(names)s.") % {"names": ", ".join(self.taken)})
        for name, theirs in self.disputed:
            words = {"name": name, "theirs": theirs or "–"}
            parts.append(_("%(name)s: yours is kept, theirs was “%(theirs)s”.") % words)
        return " ".join(parts)


def token(form: Any) -> str:
    """What the page shows, to be posted back with what was made of it."""
    return json.dumps({"at": _as_of(form), "was": _shown(form)})


def brought_in(form: Any) -> tuple[Any, Meanwhile | None]:
    """The posted data with a colleague's changes in it, and who they are; None: nobody's."""
    data, seen = form.data, _read(form.data.get("seen", ""))
    if seen is None or seen["at"] == _as_of(form):
        return data, None
    data = data.copy()
    taken, disputed = [], []
    for name, theirs in _shown(form).items():
        was, mine = str(seen["was"].get(name, "")), str(data.get(name, ""))
        if theirs in (was, mine):
            continue
        label = str(form.fields[name].label)
        if mine == was:
            data[name] = theirs
            taken.append(label)
        else:
            disputed.append((label, _in_words(form.fields[name], theirs)))
    data["seen"] = token(form)
    return data, Meanwhile(_who(form.instance), taken, disputed)


def _as_of(form: Any) -> str:
    """When the campaign, and a text that is its own, were last saved."""
    rows = [form.instance, *([form.text] if form.text else [])]
    return " ".join(row.updated_at.isoformat() for row in rows)


def _shown(form: Any) -> dict[str, str]:
    """As the browser posts it when nobody touches it."""
    names = (*GUARDED, *TEXTS) if form.text else GUARDED
    return {name: _posted(form.fields[name], form.initial.get(name)) for name in names}


def _posted(field: Field, value: Any) -> str:
    value = field.prepare_value(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M}"
    return "" if value is None else str(value)


def _in_words(field: Field, value: str) -> str:
    choices: Any = getattr(field, "choices", None) or getattr(field.widget, "choices", ())
    return next((str(label) for key, label in choices if str(key) == value), value)


def _read(text: str) -> dict[str, Any] | None:
    with suppress(ValueError):
        seen = orjson.loads(text)
        if isinstance(seen, dict) and isinstance(seen.get("was"), dict) and "at" in seen:
            return seen
    return None


def _who(campaign: Campaign) -> str:
    found = audit.entries_of(campaign, campaign.template)
    trail = found.filter(project=campaign.project_id, action="changed")
    entry = trail.order_by("-pk").first()
    return entry.actor.removeprefix("user:") if entry else _("Somebody else")
