"""An import at one moment: its progress, what it would do or did, and what can be done now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from notifications.admin.importing import pace, repeated_people
from notifications.admin.importing.states import LIKE_A_RUN, rail
from notifications.admin.ui.polling import COMING_BACK
from notifications.people.importing import refused
from notifications.people.importing.columns import Meaning, columns_of
from notifications.people.importing.model import Import
from notifications.staff.actors import who
from notifications.values.moments import in_zone

STATE, MODE = Import.State, Import.Mode
SHOWN_REFUSED = 10
# In the order of the page. The dots are those of a run's outcomes.
COUNTED: dict[str, tuple[str | Promise, str]] = {
    "created": (gettext_lazy("Created"), "accepted"),
    "updated": (gettext_lazy("Updated"), "accepted"),
    "unchanged": (gettext_lazy("Unchanged"), "waiting"),
    "removed": (gettext_lazy("Removed"), "rejected"),
    "unknown": (gettext_lazy("Unknown"), "waiting"),
    "moved": (gettext_lazy("Devices moved"), "unknown"),
    "unsubscribed": (gettext_lazy("Unsubscribed"), "rejected"),
    "resubscribed": (gettext_lazy("Subscribed again"), "accepted"),
    "left_category": (gettext_lazy("Unsubscribed from a category"), "rejected"),
    "back_in_category": (gettext_lazy("Subscribed to a category again"), "accepted"),
}
HINTS = {
    "moved": gettext_lazy("from another person, who no longer gets pushes on them"),
    "unknown": gettext_lazy("nobody to remove"),
    "unsubscribed": gettext_lazy("from everything"),
}
# Which counts each mode can have.
OF_MODE = {
    MODE.ADD: ("created", "updated", "unchanged", "moved"),
    MODE.REPLACE: ("created", "updated", "unchanged", "moved"),
    MODE.REMOVE: ("removed", "unknown"),
}


@dataclass(frozen=True)
class Count:
    label: str | Promise
    number: int
    dot: str
    hint: str | Promise = ""


@dataclass(frozen=True)
class Notice:
    what: str
    next: str = ""


def describe(one: Import, now: datetime, *, before: str = "") -> dict[str, Any]:
    """Template context. `before`: the progress at the page's last request, as a `pace.Mark`."""
    counts = _counted(one)
    going = pace.progress(one, now, before=before) if one.under_way else None
    return {
        "row": one,
        "rail": rail(one.state),
        "trigger": _asks_again(one),
        "progress": going,
        "counts": counts,
        "counts_title": _title(one),
        "colour": LIKE_A_RUN.get(one.state, ""),
        "balance": _balance(one) if counts else "",
        "notice": _notice(one),
        "refused": [] if one.under_way else list(one.refusals.order_by("pk")[:SHOWN_REFUSED]),
        "refused_count": refused.count_kept(one),
        "not_kept": refused.not_kept(one),
        "refused_kinds": refused.kinds(one) if one.refused and not one.under_way else [],
        "repeated": _repeated(one),
        "unseen": _unseen(one) if counts else "",
        "several": "" if one.under_way else repeated_people.in_words(one),
        "seen": f"{one.state}-{going.share // 10 if going else 10}",
        "spoken": f"{one.get_state_display()}: {going.share} %"
        if going
        else one.get_state_display(),
    }


def _title(file_import: Import) -> str:
    if file_import.state == STATE.CHECKED:
        return _("What it would do")
    return _("What it did") if file_import.state == STATE.FINISHED else _("Done so far")


def about(one: Import) -> str:
    """The mode, who started the import, and when, in one line."""
    zone = one.project.timezone
    text = _("%(mode)s · by %(who)s · started %(when)s")
    if one.finished_at:
        text = _("%(mode)s · by %(who)s · started %(when)s · ended %(end)s")
    return text % {
        "mode": one.get_mode_display(),
        "who": who(one.by),
        "when": in_zone(one.created_at, zone),
        "end": in_zone(one.finished_at, zone),
    }


def _counted(file_import: Import) -> list[Count]:
    """What the import would do, or did so far. A check has no counts before its end."""
    if file_import.state in (STATE.CHECKING, STATE.FAILED):
        return []
    return list_counts(
        file_import.foreseen if file_import.state == STATE.CHECKED else file_import.counts,
        file_import,
    )


def list_counts(found: dict[str, int], one: Import) -> list[Count]:
    counts = [
        Count(COUNTED[name][0], int(found.get(name, 0)), COUNTED[name][1], HINTS.get(name, ""))
        for name in (*OF_MODE[MODE(one.mode)], *_consent_counts(found, one))
    ]
    return [*counts, Count(_("Rows refused"), one.refused, "rejected")]


def _consent_counts(counts: dict[str, int], file_import: Import) -> list[str]:
    """Which counts of changed consent answers to show. Unsubscribes appear if the file has such a
    column, even at 0; resubscribes only if there are some."""
    means = {column.meaning for column in columns_of(file_import)}
    column_of = {"unsubscribed": Meaning.SUBSCRIBED, "left_category": Meaning.CATEGORY}
    unsubscribes = [
        name for name, column in column_of.items() if name in counts and column in means
    ]
    resubscribes = [name for name in ("resubscribed", "back_in_category") if counts.get(name)]
    return [name for name in COUNTED if name in (*unsubscribes, *resubscribes)]


def _balance(file_import: Import) -> str:
    """The rows of the file as a sum of people, repeated rows and refused rows."""
    if file_import.under_way:
        return ""
    people = ngettext("%(count)s person", "%(count)s people", file_import.people)
    again = ngettext(
        "%(count)s row of a person named before",
        "%(count)s rows of people named before",
        file_import.duplicates,
    )
    parts = [
        (people, file_import.people),
        (again, file_import.duplicates),
        (_("%(count)s refused"), file_import.refused),
    ]
    addends = [text % {"count": f"{count:,}"} for text, count in parts if count]
    summary = ngettext("%(count)s row in the file", "%(count)s rows in the file", file_import.rows)
    return f"{summary % {'count': f'{file_import.rows:,}'}} = {' + '.join(addends) or '0'}"


def _repeated(file_import: Import) -> str:
    """Which row counts for people with several rows."""
    if file_import.under_way or not file_import.duplicates or file_import.mode == MODE.REMOVE:
        return ""
    return _(
        "If a person occurs several times, the last row counts, and the devices of all rows "
        "are added. An empty cell keeps the value of an earlier row."
    )


def _unseen(file_import: Import) -> str:
    """A note that new devices count as not seen, if the file does not say when they were."""
    means = {column.meaning for column in columns_of(file_import)}
    brings = bool(means & {Meaning.TOKEN, Meaning.FID}) and file_import.mode != MODE.REMOVE
    if not brings or Meaning.SEEN_AT in means:
        return ""
    return _(
        "The file does not say when the devices were last seen. New ones count as not seen until "
        "their app reports; how long they may stay unseen is counted from this import."
    )


def _notice(file_import: Import) -> Notice | None:
    if file_import.state == STATE.FAILED:
        return Notice(
            _("It failed: %(problem)s") % {"problem": file_import.problem},
            _("Nothing more is imported. Fix the file and import it again."),
        )
    if file_import.state == STATE.STOPPED:
        return Notice(
            _("It was stopped. What was done so far stays."),
            _("Continue it to do the rest."),
        )
    if file_import.state == STATE.CHECKED:
        nobody = "" if concerned(file_import) else _("There is nobody to import or to remove.")
        return Notice(_("Checked. Nothing was changed yet."), nobody)
    return None


def in_short(one: Import) -> str:
    """The counts for the list: “1,200 created · 300 updated”."""
    counts = one.counts if one.started_at else one.foreseen
    parts = [
        f"{int(counts[name]):,} {str(COUNTED[name][0]).lower()}"
        for name in OF_MODE[MODE(one.mode)]
        if counts.get(name)
    ]
    if one.started_at is None and parts:
        return _("would be: %(counts)s") % {"counts": " · ".join(parts)}
    return " · ".join(parts) or "–"


def verbs_of(one: Import) -> list[tuple[str, str]]:
    """The actions that are possible now: names and labels."""
    return {
        STATE.CHECKED: [("start", _start_label(one))] if concerned(one) else [],
        STATE.CHECKING: [("stop", _("Stop"))],
        STATE.MERGING: [("stop", _("Stop"))],
        STATE.STOPPED: [("resume", _("Continue"))],
    }.get(STATE(one.state), [])


def concerned(one: Import) -> int:
    """How many people it would import or remove."""
    return int(one.foreseen.get("removed", 0)) if one.mode == MODE.REMOVE else one.people


def _start_label(file_import: Import) -> str:
    count = concerned(file_import)
    if file_import.mode == MODE.REMOVE:
        text = ngettext("Remove %(count)s person …", "Remove %(count)s people …", count)
    else:
        text = ngettext("Import %(count)s person …", "Import %(count)s people …", count)
    return text % {"count": f"{count:,}"}


def has_people(one: Import) -> bool:
    """Whether there are people to make a list of."""
    return one.state == STATE.FINISHED and one.mode != MODE.REMOVE


def _asks_again(file_import: Import) -> str:
    """The `hx-trigger`: every second while a worker is busy with the import; else when the page
    becomes visible again; never after its end."""
    if file_import.under_way:
        return "every 1s"
    return COMING_BACK if file_import.state in (STATE.CHECKED, STATE.STOPPED) else ""
