"""Moved occurrences: single occurrences of a series with another time than its rhythm gives.

If an occurrence already has a run, the run is moved. A later occurrence is only a time; the
campaign holds it until its run is made. None passes another: the order of a series stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from campaigns.runs import series
from notifications.values.moments import short

if TYPE_CHECKING:
    from campaigns.planning.campaign import Campaign

MOST = 100  # moved occurrences that are still to come
LOOKED_AT = 2_000  # occurrences searched for one
INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True)
class Occurrence:
    """One occurrence of a series, and when it is due: mostly at its own instant. With local time,
    its run begins earlier, in the first time zone on earth."""

    instant: datetime
    due: datetime
    begins: datetime

    @property
    def moved_from(self) -> datetime | None:
        """Its own instant if it was moved; otherwise None."""
        return self.instant if self.due != self.instant else None


def due(campaign: Campaign, instant: datetime) -> datetime:
    moved = campaign.moved.get(series.name_of(instant))
    return datetime.fromisoformat(moved) if moved else instant


def occurrence(campaign: Campaign, instant: datetime) -> Occurrence:
    when = due(campaign, instant)
    return Occurrence(instant, when, campaign.begins(when))


def after(campaign: Campaign, moment: datetime, last: Any) -> Iterator[Occurrence]:
    """Yield the occurrences due later than `moment`, in order: after a last run, only later ones.

    An occurrence moved before it had a run keeps that time here; its run may be moved again since.
    """
    own = series.instant_of(last) if last is not None else moment
    if not campaign.moved:
        yield from (
            Occurrence(at, at, campaign.begins(at))
            for at in campaign.rhythm.after(max(moment, own))
        )
        return
    later = (name for name, to in campaign.moved.items() if datetime.fromisoformat(to) > moment)
    since = min([moment, *(datetime.fromisoformat(name) - INSTANT for name in later)])
    for instant in campaign.rhythm.after(since):
        candidate = occurrence(campaign, instant)
        if candidate.due > moment and (last is None or instant > own):
            yield candidate


def find_occurrence(
    coming: Iterator[Occurrence], at: datetime, zone: str
) -> tuple[Occurrence, Occurrence | None]:
    """Return the occurrence that is due then, and the one after it. Raises ValueError."""
    for number, candidate in enumerate(islice(coming, LOOKED_AT), start=1):
        if at in (candidate.due, candidate.instant):
            return candidate, next(coming, None)
        if at < min(candidate.due, candidate.instant):
            break  # so are all that follow
        if number == LOOKED_AT:
            text = _("Only the next %(most)s times can be moved; the last of them is %(when)s.")
            raise ValueError(text % {"most": f"{LOOKED_AT:,}", "when": short(candidate.due, zone)})
    raise ValueError(_("None of the times to come is at this time."))


def problem(
    campaign: Campaign,
    one: Occurrence,
    to: datetime,
    *,
    before: datetime,
    following: Occurrence | None,
    now: datetime,
) -> str:
    """Return why the occurrence cannot be moved to `to`, or an empty string. `before`: when the one
    before it is over."""
    zone = campaign.timezone
    if to <= now:
        return _("This time has passed. Choose a later one.")
    if to == one.due:
        return _("It is due at this time already. Choose another one.")
    if to <= before:
        text = _("The one before is due on %(when)s. Move it to after that.")
        return text % {"when": short(before, zone)}
    if following is not None and to >= min(following.due, following.instant):
        when = short(min(following.due, following.instant), zone)
        return _("The next one is due on %(when)s. Move it to before that.") % {"when": when}
    if campaign.until is not None and to > campaign.until:
        when = short(campaign.until, zone)
        return _("Its series ends on %(when)s. Move it to before that.") % {"when": when}
    return ""


def add_move(campaign: Campaign, one: Occurrence, to: datetime, now: datetime) -> dict[str, str]:
    """Return the moved times to save: with this one, without past ones. Raises ValueError."""
    coming = {name: at for name, at in campaign.moved.items() if datetime.fromisoformat(at) > now}
    coming.pop(series.name_of(one.instant), None)
    if to != one.instant:
        coming[series.name_of(one.instant)] = series.name_of(to)
    if len(coming) > MOST:
        text = _("At most %(most)s of a series are moved. Change its times instead.")
        raise ValueError(text % {"most": MOST})
    return coming
