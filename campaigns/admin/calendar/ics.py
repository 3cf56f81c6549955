"""The calendar as a file for other calendars (iCalendar, RFC 5545): each entry at its instant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from django.utils.translation import gettext as _

from campaigns.planning.calendar import DRAFT, EXPECTED, RESTING, Entries, Entry
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE, instant_of
from notifications.admin.furniture.page import page_url
from notifications.values.moments import in_zone

LONGEST = 75  # octets of a line; the rest goes on after a blank
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
) -> str:
    """`labels`: what a state is called; `absolute`: the whole address of a page of ours."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Carillon//Calendar//EN"]
    if missing := " ".join(_missing(entries)):
        lines.append(f"X-WR-CALDESC:{_escaped(missing)}")
    for entry, name in _named(entries):
        lines += _event(entry, name, labels, absolute, now)
    lines.append("END:VCALENDAR")
    return "".join(f"{folded}\r\n" for line in lines for folded in _folded(line))


def _missing(entries: Entries) -> Iterator[str]:
    if entries.ends:
        said = _(
            "What is expected of series from %(when)s on is left out: there is too much of it."
        )
        yield said % {"when": in_zone(entries.ends, "UTC")}
    if entries.runs_end:
        said = _("Runs from %(when)s on are left out: there are too many of them.")
        yield said % {"when": in_zone(entries.runs_end, "UTC")}


def _event(
    entry: Entry,
    name: str,
    labels: dict[str, str],
    absolute: Callable[[str], str],
    now: datetime,
) -> Iterator[str]:
    url = absolute(page_url(entry.run or entry.campaign))
    summary = _escaped(f"{entry.campaign.name} ({labels[entry.state]})")
    yield "BEGIN:VEVENT"
    yield f"UID:{name}@{absolute('/').split('/')[2]}"
    yield f"DTSTAMP:{_instant(now)}"
    # Without a zone it is meant in all: so the format tells a time on each reader's own clock.
    yield f"DTSTART:{entry.wall:{WALL}}" if entry.wall else f"DTSTART:{_instant(entry.at)}"
    yield f"SUMMARY:{summary}"
    yield f"URL:{url}"
    yield f"STATUS:{STATUS.get(entry.state, 'CONFIRMED')}"
    yield "END:VEVENT"


def _named(entries: list[Entry]) -> Iterator[tuple[Entry, str]]:
    """Each has the same name each time, so that a calendar brings the entry up to date. Of several
    runs of one occurrence, cancelled and launched again, the newest stands for it."""
    newest: dict[str, int] = {}
    for entry in entries:
        name = _name(entry)
        newest[name] = max(newest.get(name, 0), entry.run.pk if entry.run else 0)
    for entry in entries:
        name = _name(entry)
        older = entry.run is not None and entry.run.pk != newest[name]
        yield entry, f"run-{entry.run.pk}" if entry.run and older else name


def _name(entry: Entry) -> str:
    """Of a series by the occurrence's own instant, wherever it was moved; whether or not it has a
    run."""
    whole = f"campaign-{entry.campaign.pk}"
    if entry.run is not None:
        once = entry.run.occurrence == ONCE
        return whole if once else f"{whole}-{_instant(instant_of(entry.run))}"
    if entry.state == DRAFT:
        return whole
    return f"{whole}-{_instant(entry.instant or entry.at)}"


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):{WALL}Z}"


def _escaped(text: str) -> str:
    plain = CONTROL.sub(" ", BREAK.sub("\n", text))
    return re.sub(r"([\\;,])", r"\\\1", plain).replace("\n", "\\n")


def _folded(line: str) -> Iterator[str]:
    """Between letters: half of one would be none."""
    part, size = "", 0
    for letter in line:
        octets = len(letter.encode())
        if size + octets > LONGEST:
            yield part
            part, size = " ", 1
        part, size = part + letter, size + octets
    yield part
