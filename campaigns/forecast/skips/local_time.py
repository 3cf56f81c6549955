"""People skipped because their local time has passed, or because their time zone is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences.behavior.kind import Sql
from campaigns.forecast.skips.skipped import Cause, with_any_text
from campaigns.runs import best_hour
from campaigns.runs.local_time import LocalTime
from campaigns.runs.reasons import Reason
from notifications.values.zones import known_zones


def causes(by: LocalTime | None, texts: Iterable[int]) -> Iterator[Cause]:
    """Yield why local time would skip some of an audience, whatever the text."""
    if by is None:
        return
    texts, zones = [*texts], [*known_zones()]
    unknown = Sql("c.timezone <> ALL(%s::text[])", [zones])
    if not by.otherwise:
        short = _("no time zone")
        yield with_any_text(Reason.NO_ZONE, unknown, short, _without_zone, texts)
    if never := _time_has_passed(by, zones, unknown):
        words_with_clock = partial(_too_late_there, f"{by.wall:%H:%M}")
        short, words = (
            _("the time has passed"),
            _too_late_for_them if by.best_hour else words_with_clock,
        )
        yield with_any_text(Reason.LOCAL_TIME, never, short, words, texts)


def _time_has_passed(by: LocalTime, zones: list[str], unknown: Sql) -> Sql | None:
    """Return SQL that selects contacts `c` whose local time has passed, or None if there is
    none."""
    late = [zone for zone in zones if by.due_for(zone) is None]
    never = Sql("c.timezone = ANY(%s::text[])", [late])
    if by.best_hour:
        late = [
            f"{zone} {'' if hour is None else hour}"
            for zone in zones
            for hour in (None, *range(24))
            if by.due_for(zone, hour) is None
        ]
        theirs = f"concat(c.timezone, ' ', {best_hour.hour_of('c.id')})"
        never = Sql(f"{theirs} = ANY(%s::text[])", [late])
    if by.otherwise and by.due_for(None) is None:
        never = Sql(f"({never.sql} OR {unknown.sql})", [*never.params, *unknown.params])
    return never if late else None


def _without_zone(devices: int) -> str:
    text = ngettext(
        "%(count)s device: nobody knows its person's time zone.",
        "%(count)s devices: nobody knows their people's time zones.",
        devices,
    )
    return text % {"count": f"{devices:,}"}


def _too_late_for_them(devices: int) -> str:
    text = ngettext(
        "%(count)s device: its person's time has passed.",
        "%(count)s devices: their people's time has passed.",
        devices,
    )
    return text % {"count": f"{devices:,}"}


def _too_late_there(clock: str, devices: int) -> str:
    text = ngettext(
        "%(count)s device: %(clock)s has passed where its person is.",
        "%(count)s devices: %(clock)s has passed where their people are.",
        devices,
    )
    return text % {"count": f"{devices:,}", "clock": clock}
