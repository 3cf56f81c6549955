"""Wrong inbox items: the last step of a run removes those that no push has replaced.

A correction's push already removes the wrong item of each recipient. This step is for people of its
audience who are not recipients, because they have no device that can be reached. It also removes
the older of two items that were stored at the same moment by two corrections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection

from campaigns.audiences.selection import compile_tree, joined
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import LEAVING, Run
from campaigns.sending.inbox.run_items import reference_of, references_beside
from notifications.inbox.storing import withdraw

AT_ONCE = 10_000

OF_AUDIENCE = """
SELECT DISTINCT c.id FROM {source}
JOIN notifications_inboxitem i ON i.contact_id = c.id AND i.reference = ANY(%s)
WHERE c.project_id = %s AND c.id > %s AND {fits} ORDER BY c.id LIMIT %s
"""
WITH_A_NEWER_ITEM = """
SELECT DISTINCT r.contact_id FROM campaigns_recipient r
JOIN notifications_inboxitem own ON own.contact_id = r.contact_id AND own.reference = %s
JOIN notifications_inboxitem newer
    ON newer.contact_id = r.contact_id AND newer.reference = ANY(%s)
WHERE r.run_id = %s AND r.contact_id > %s ORDER BY r.contact_id LIMIT %s
"""


def remove_wrong_items(run_id: int) -> None:
    """Remove the wrong items in parts, once all chunks of the run are closed.

    If the process dies here: the run is not finished, and the next call removes the rest.
    """
    run = Run.driven.get(pk=run_id)
    if not (run.inbox and run.state in LEAVING) or run.freezing:
        return
    if run.chunks.exclude(state=Chunk.State.CLOSED).exists():
        return
    older, newer = references_beside(run)
    if older:
        _remove(older, lambda after: _next_of_audience(run, older, after))
    if newer:
        own = reference_of(run.pk)
        _remove([own], lambda after: _next_with_newer_item(run, own, newer, after))


def _remove(references: Sequence[str], next_people: Callable[[int], list[int]]) -> None:
    people = next_people(0)
    while people:
        withdraw(people, references)
        people = next_people(people[-1])


def _next_of_audience(run: Run, wrong: list[str], after: int) -> list[int]:
    fits = compile_tree(run.rules)
    statement = OF_AUDIENCE.format(source=joined(run.seen_since), fits=fits.sql)
    return _ids(statement, [wrong, run.project_id, after, *fits.params, AT_ONCE])


def _next_with_newer_item(run: Run, own: str, newer: list[str], after: int) -> list[int]:
    return _ids(WITH_A_NEWER_ITEM, [own, newer, run.pk, after, AT_ONCE])


def _ids(statement: str, params: list[Any]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return [person for (person,) in cursor.fetchall()]
