"""Details: what a run's row says beside its cause, and the same in the reader's language.

A worker has no reader: it writes one of these sentences in English, which logs and people can
read as it stands. A page finds the sentence and its numbers again.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cache

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from notifications.staff.actors import who

UNREADABLE = _("{count} requests of one window did not fit FCM's schema.")
FOREIGN = _("{count} of {answered} addresses are of another project.")
REFUSED = _("The first {count} were all refused.")
DYING = _("{dead} of {answered} addresses. {retired}")
RETIRED = _("{count} devices were retired before.")
NONE_RETIRED = _("No device was retired.")
STORM = _("{copies} requests for {planned} recipients may have arrived.")
HELD = _("{count} devices wait: {platforms}.")
STUCK = _("{count} chunks are left.")
MINUTES_LATE = _("It was due {count} min ago.")
HOURS_LATE = _("It was due {count} h ago.")
MINUTES_SILENT = _("Nothing happened for {count} min.")
HOURS_SILENT = _("Nothing happened for {count} h.")
LIST_GONE = _(
    "Its rules name a list that was deleted: {lists}. Cancel it and launch its campaign again."
)
RULES_BROKEN = _(
    "Its rules do not work any more: {problem} Cancel it, mend its audience and launch again."
)
TEXT_BROKEN = _(
    "Its text does not work any more: {problem} Cancel it, mend its template and launch again."
)
LEFT_OUT = _("Left out: run {run} of this campaign was not finished yet.")
LEFT_OUT_BY = _("Left out by {who}; the series went on.")
BY_HAND = _("It was {who}.")

# By hand last: anybody's name could be “due 3 h ago”.
SENTENCES = (
    *(UNREADABLE, FOREIGN, REFUSED, DYING, RETIRED, NONE_RETIRED, STORM, HELD, STUCK),
    *(MINUTES_LATE, HOURS_LATE, MINUTES_SILENT, HOURS_SILENT, LIST_GONE, RULES_BROKEN),
    *(TEXT_BROKEN, LEFT_OUT, LEFT_OUT_BY, BY_HAND),
)


def late_by(time: timedelta) -> str:
    return _minutes_or_hours(time, MINUTES_LATE, HOURS_LATE)


def silent_for(time: timedelta) -> str:
    return _minutes_or_hours(time, MINUTES_SILENT, HOURS_SILENT)


def _minutes_or_hours(time: timedelta, in_minutes: str, in_hours: str) -> str:
    minutes = int(time.total_seconds() // 60)
    if minutes < 120:
        return in_minutes.format(count=minutes)
    return in_hours.format(count=f"{minutes // 60:,}")


def in_words(detail: str) -> str:
    """FCM's own words, and an error's, stay as they are."""
    for sentence in SENTENCES:
        if found := _pattern(sentence).fullmatch(detail):
            values = {name: in_words(who(value)) for name, value in found.groupdict().items()}
            return gettext(sentence).format(**values)
    return detail


@cache
def _pattern(sentence: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(sentence)))
