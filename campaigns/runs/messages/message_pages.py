"""Listing: a project's messages, newest first, day by day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from campaigns.runs.messages import outcome
from campaigns.runs.messages.message import Message
from campaigns.runs.messages.outcome import Outcome
from campaigns.runs.run import Run

NUMBER_BITS = 48
LOOKED_AT = 2_000  # rows read for one page; most of them may be in another state
AT_ONCE = 500
LATE_ROWS = timedelta(days=1)  # a call to a long list may still add rows when its day is over


@dataclass(frozen=True)
class MessageFilter:
    """Filters of the list. `state` is one of outcome.STATES, or empty."""

    contact_id: int | None = None
    since: datetime | None = None
    state: str = ""


@dataclass(frozen=True)
class MessageRow:
    message: Message
    outcome: Outcome

    @property
    def place(self) -> int:
        return (self.message.run_id << NUMBER_BITS) + self.message.number


@dataclass(frozen=True)
class Page:
    """One page of the list. `last` is where the next page begins; None: there is none."""

    rows: list[MessageRow]
    last: int | None


def page_of(project_id: int, wanted: MessageFilter, *, after: int | None, limit: int) -> Page:
    """The next page of messages. It is shorter than `limit` if it would have to read too many rows;
    the next page then goes on."""
    found: list[MessageRow] = []
    looked_at = 0
    for rows in _parts(project_id, wanted, after):
        for row in rows:
            if not wanted.state or row.outcome.state == wanted.state:
                found.append(row)
            if len(found) > limit:
                return Page(found[:limit], found[limit - 1].place)
        looked_at += len(rows)
        if looked_at >= LOOKED_AT:
            return Page(found, rows[-1].place)
    return Page(found, None)


def _parts(project_id: int, wanted: MessageFilter, after: int | None) -> Iterator[list[MessageRow]]:
    last_run, last = divmod(after, 1 << NUMBER_BITS) if after is not None else (None, None)
    for run_id in _days(project_id, wanted, last_run):
        below = last if run_id == last_run else None
        while rows := _rows(run_id, wanted, below):
            below = rows[-1].number
            told = outcome.of_each(run_id, rows)
            yield [MessageRow(one, told[one.number]) for one in rows]


def _days(project_id: int, wanted: MessageFilter, last: int | None) -> list[int]:
    days = Run.every.filter(project=project_id, kind=Run.Kind.MESSAGES, forgotten_at=None)
    if last is not None:
        days = days.filter(pk__lte=last)
    if wanted.since is not None:
        first = (wanted.since - LATE_ROWS).astimezone(UTC).date()
        days = days.filter(occurrence__gte=first.isoformat())
    return list(days.order_by("-pk").values_list("pk", flat=True))


def _rows(run_id: int, wanted: MessageFilter, below: int | None) -> list[Message]:
    rows = Message.objects.filter(run_id=run_id)
    if below is not None:
        rows = rows.filter(number__lt=below)
    if wanted.contact_id is not None:
        rows = rows.filter(contact_id=wanted.contact_id)
    if wanted.since is not None:
        rows = rows.filter(created_at__gte=wanted.since)
    if wanted.state in (outcome.WAITING, outcome.CANCELLED):
        rows = rows.filter(state=wanted.state)
    elif wanted.state:
        rows = rows.filter(state=Message.State.TAKEN)
    return list(rows.defer("content", "variables").order_by("-number")[:AT_ONCE])
