"""The calendar as an iCalendar file (RFC 5545) for other calendars: each entry at its instant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from django.utils.translation import gettext as _
from icalendar import Calendar, Event, vText

from campaigns.planning.calendar import DRAFT, EXPECTED, RESTING, Entries, Entry
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE, instant_of
from notifications.admin.ui.page import page_url
from notifications.values.moments import in_zone

BREAK = re.compile("\r\n|[\n\v\f\r\x85\u2028\u2029]")
CONTROL = re.compile(r"[\x00-\x09\x0e-\x1f\x7f-\x9f]")
WALL = "%Y%m%dT%H%M%S"
STATUS = {
    DRAFT: "TENTATIVE",
    EXPECTED: "TENTATIVE",
    RESTING: "CANCELLED",
    Run.State.CANCELLED: "CANCELLED",
}


def written(
    entries: Entries, labels: dict[str, str], absolute: Callable[[str], str], now: datetime
) -> bytes:
    """The file's content. `labels`: names of states. `absolute`: makes a page's full URL."""
    calendar = Calendar()
    calendar.add("version", "2.0")
    calendar.add("prodid", "-//Carillon//Calendar//EN")
    if missing := " ".join(_describe_missing(entries)):
        calendar.add("x-wr-caldesc", vText(missing))
    for entry, name in _with_names(entries):
        calendar.add_component(_event(entry, name, labels, absolute, now))
    return bytes(calendar.to_ical())


def _describe_missing(entries: Entries) -> Iterator[str]:
    if entries.ends:
        text = _(
            "What is expected of series from %(when)s on is left out: there is too much of it."
        )
        yield text % {"when": in_zone(entries.ends, "UTC")}
    if entries.runs_end:
        text = _("Runs from %(when)s on are left out: there are too many of them.")
        yield text % {"when": in_zone(entries.runs_end, "UTC")}


def _event(
    entry: Entry,
    name: str,
    labels: dict[str, str],
    absolute: Callable[[str], str],
    now: datetime,
) -> Event:
    event = Event()
    event.add("uid", f"{name}@{absolute('/').split('/')[2]}")
    event.add("dtstamp", now)
    # In this format, a time without a zone means each reader's local time.
    event.add("dtstart", entry.wall or entry.at.astimezone(UTC))
    event.add("summary", plain(f"{entry.campaign.name} ({labels[entry.state]})"))
    event.add("url", absolute(page_url(entry.run or entry.campaign)))
    event.add("status", STATUS.get(entry.state, "CONFIRMED"))
    return event


def _with_names(entries: list[Entry]) -> Iterator[tuple[Entry, str]]:
    """Entries, each with a stable name, so that calendars update them. If an occurrence was
    cancelled and launched again, its newest run has the name."""
    newest: dict[str, int] = {}
    for entry in entries:
        name = _name(entry)
        newest[name] = max(newest.get(name, 0), entry.run.pk if entry.run else 0)
    for entry in entries:
        name = _name(entry)
        older = entry.run is not None and entry.run.pk != newest[name]
        yield entry, f"run-{entry.run.pk}" if entry.run and older else name


def _name(entry: Entry) -> str:
    """The stable name. In a series it has the occurrence's own instant, even if it was moved, and
    whether or not it has a run."""
    whole = f"campaign-{entry.campaign.pk}"
    if entry.run is not None:
        once = entry.run.occurrence == ONCE
        return whole if once else f"{whole}-{_instant(instant_of(entry.run))}"
    if entry.state == DRAFT:
        return whole
    return f"{whole}-{_instant(entry.instant or entry.at)}"


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):{WALL}Z}"


def plain(text: str) -> str:
    """The text without characters that a calendar could take for the end of a line."""
    return CONTROL.sub(" ", BREAK.sub("\n", text))
