"""Refused rows as a file: open it in a spreadsheet, correct the cells, and import it again."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils.translation import gettext, ngettext

from notifications.people.importing import staging
from notifications.people.importing.columns import OURS
from notifications.people.importing.model import Import
from notifications.people.importing.reading import Refused
from notifications.people.importing.reasons import in_words
from notifications.people.importing.source import Unusable
from notifications.values.spreadsheet import neutral

ROWS_AT_ONCE = 2_000
HOPELESS = 10_000  # rows refused one after the other
SUMMED = 100_000  # only so many rows, the first ones, are summed up
KINDS_SHOWN = 10
# Two reasons are of the same kind if they differ only in their values. If an older release refused
# the rows, they may differ in quoted texts and numbers.
KINDS = r"""
SELECT count(*), "column", min(reason) FROM (
    SELECT "column", reason FROM notifications_importrefusal
    WHERE owner_id = %s ORDER BY id LIMIT %s
) refused
GROUP BY "column", CASE WHEN reason IS JSON ARRAY
    THEN jsonb_path_query_array(reason::jsonb, '$[*][0]')::text
    ELSE regexp_replace(reason, '“[^”]*”|[0-9]+', '…', 'g') END
ORDER BY count(*) DESC, "column" LIMIT %s
"""


class _Echo:
    """A file for csv.writer that returns each line, to be streamed at once."""

    def write(self, line: str) -> str:
        return line


def lines(one: Import) -> Iterator[str]:
    """The lines of the file: the header and each row, with the problem in front.

    When the file is imported again, these three columns are ignored, and so is the apostrophe that
    turns a formula into text.
    """
    writer = csv.writer(_Echo())
    own = len(OURS) if came_back(one.sniffed["head"]) else 0
    yield "\ufeff" + writer.writerow([*OURS, *map(neutral, one.sniffed["head"][own:])])
    for line, column, reason, cells in _rows(one):
        problem = (neutral(column), neutral(in_words(reason)))
        yield writer.writerow([line, *problem, *map(neutral, cells[own:])])
    if left_out := not_kept(one):
        yield writer.writerow(["", "", left_out, *[""] * (len(one.sniffed["head"]) - own)])


def count_kept(one: Import) -> int:
    return min(one.refused, staging.MAX_REFUSED)


def not_kept(one: Import) -> str:
    """How many refused rows are only counted, not kept; in words."""
    count = one.refused - count_kept(one)
    text = ngettext(
        "%(count)s further row was refused; only the first %(most)s are kept.",
        "%(count)s further rows were refused; only the first %(most)s are kept.",
        count,
    )
    return text % {"count": f"{count:,}", "most": f"{count_kept(one):,}"} if count else ""


def watch(one: Import, wrong: Sequence[Refused], *, fits: int, quote: int) -> dict[str, Any]:
    """Count the rows refused since the last valid one, and remember the line of an open quote.

    The result is stored in the position. Raises Unusable if the file, or the rest of it after that
    quote, is hopeless.
    """
    if fits:
        return {"since": 0, "quote": quote}
    since = one.position.get("since", 0) + len(wrong)
    quote = one.position.get("quote") or quote
    if since >= HOPELESS and (quote or not one.staged):
        raise Unusable(_hopeless(wrong[0], since, quote))
    return {"since": since, "quote": quote}


def _hopeless(first: Refused, since: int, quote: int) -> str:
    if quote:
        text = gettext("%(count)s rows in a row are not valid. Is a quote open at line %(line)s?")
        return text % {"count": f"{since:,}", "line": f"{quote:,}"}
    text = gettext("None of the first %(count)s rows is valid. Line %(line)s: %(reason)s")
    return text % {
        "count": f"{since:,}",
        "line": f"{first.line:,}",
        "reason": in_words(first.reason),
    }


@dataclass(frozen=True)
class Kind:
    """A kind of reason, and how many rows were refused for it. `example`: one row's reason."""

    count: int
    column: str
    example: str


def kinds(one: Import) -> list[Kind]:
    """The kinds of reasons, the most frequent first."""
    with connection.cursor() as cursor:
        cursor.execute(KINDS, [one.pk, SUMMED, KINDS_SHOWN])
        return [
            Kind(count, column, in_words(reason)) for count, column, reason in cursor.fetchall()
        ]


def _rows(import_: Import) -> Iterator[tuple[int, str, str, list[str]]]:
    """The refused rows, read in pages, so that no cursor stays open during a long download."""
    last = 0
    while True:
        page = import_.refusals.filter(pk__gt=last).order_by("pk")[:ROWS_AT_ONCE]
        rows = list(page.values_list("pk", "line", "column", "reason", "cells"))
        yield from (row[1:] for row in rows)
        if len(rows) < ROWS_AT_ONCE:
            return
        last = rows[-1][0]


def came_back(head: list[str]) -> bool:
    """Whether this is the header of a file of refused rows."""
    return head[: len(OURS)] == list(OURS)
