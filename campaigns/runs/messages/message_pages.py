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
    page_rows: list[MessageRow] = []
    looked_at = 0
    for rows in _read_parts(project_id, wanted, after):
        for row in rows:
            if not wanted.state or row.outcome.state == wanted.state:
                page_rows.append(row)
            if len(page_rows) > limit:
                return Page(page_rows[:limit], page_rows[limit - 1].place)
        looked_at += len(rows)
        if looked_at >= LOOKED_AT:
            return Page(page_rows, rows[-1].place)
    return Page(page_rows, None)


def _read_parts(
    project_id: int, message_filter: MessageFilter, after: int | None
) -> Iterator[list[MessageRow]]:
    last_run, last = divmod(after, 1 << NUMBER_BITS) if after is not None else (None, None)
    for run_id in _find_days(project_id, message_filter, last_run):
        below = last if run_id == last_run else None
        while rows := _read_rows(run_id, message_filter, below):
            below = rows[-1].number
            outcomes = outcome.of_each(run_id, rows)
            yield [MessageRow(message, outcomes[message.number]) for message in rows]


def _find_days(project_id: int, message_filter: MessageFilter, last: int | None) -> list[int]:
    days = Run.every.filter(project=project_id, kind=Run.Kind.MESSAGES, forgotten_at=None)
    if last is not None:
        days = days.filter(pk__lte=last)
    if message_filter.since is not None:
        first = (message_filter.since - LATE_ROWS).astimezone(UTC).date()
        days = days.filter(occurrence__gte=first.isoformat())
    return list(days.order_by("-pk").values_list("pk", flat=True))


def _read_rows(run_id: int, message_filter: MessageFilter, below: int | None) -> list[Message]:
    rows = Message.objects.filter(run_id=run_id)
    if below is not None:
        rows = rows.filter(number__lt=below)
    if message_filter.contact_id is not None:
        rows = rows.filter(contact_id=message_filter.contact_id)
    if message_filter.since is not None:
        rows = rows.filter(created_at__gte=message_filter.since)
    if message_filter.state in (outcome.WAITING, outcome.CANCELLED):
        rows = rows.filter(state=message_filter.state)
    elif message_filter.state:
        rows = rows.filter(state=Message.State.TAKEN)
    return list(rows.defer("content", "variables").order_by("-number")[:AT_ONCE])
