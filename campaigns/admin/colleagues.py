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

from django.forms import BaseForm, Field
from django.utils.translation import gettext as _

from campaigns.campaign import Campaign
from notifications.audit import AuditEntry

GUARDED = (
    "name", "audience", "template", "schedule_kind", "at", "repeat", "until", "timezone",
    "max_lateness_seconds", "rate_per_second", "on_unknown", "ttl_seconds", "analytics_label",
)  # fmt: skip


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
    return json.dumps({"at": form.instance.updated_at.isoformat(), "was": _shown(form)})


def brought_in(form: Any) -> tuple[Any, Meanwhile | None]:
    """The posted data with a colleague's changes in it, and who they are; None: nobody's."""
    data, seen = form.data, _read(form.data.get("seen", ""))
    saved_at = Campaign.objects.values_list("updated_at", flat=True).get(pk=form.instance.pk)
    if seen is None or seen["at"] == saved_at.isoformat():
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


def _shown(form: BaseForm) -> dict[str, str]:
    """As the browser posts it when nobody touches it."""
    return {name: _posted(form.fields[name], form.initial.get(name)) for name in GUARDED}


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
        seen = json.loads(text)
        if isinstance(seen, dict) and isinstance(seen.get("was"), dict) and "at" in seen:
            return seen
    return None


def _who(campaign: Campaign) -> str:
    trail = AuditEntry.objects.filter(project=campaign.project_id, action="changed")
    for subject in (f"campaign {campaign}", f"campaign {campaign.pk}"):
        if entry := trail.filter(subject=subject[:100]).order_by("-pk").first():
            return entry.actor.removeprefix("user:")
    return _("Somebody else")
