"""Wrong inbox items: the last step of a correction removes those that no push has replaced.

A correction's push already removes the wrong item of each recipient. This step is for people of the
audience who are not recipients, because they have no device that can be reached.
"""

from __future__ import annotations

from django.db import connection

from campaigns.audiences.selection import compile_tree, joined
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import LEAVING, Run
from campaigns.sending.inbox.of_runs import reference_of
from notifications.inbox.storing import withdraw

AT_ONCE = 10_000

WHOSE = """
SELECT DISTINCT c.id FROM {source}
JOIN notifications_inboxitem i ON i.contact_id = c.id AND i.reference = ANY(%s)
WHERE c.project_id = %s AND c.id > %s AND {fits} ORDER BY c.id LIMIT %s
"""


def remove_wrong_items(run_id: int) -> None:
    """Remove the wrong items in parts, once all chunks of the correction are closed.

    If the process dies here: the run is not finished, and the next call removes the rest.
    """
    run = Run.driven.get(pk=run_id)
    if not (run.corrects_id and run.inbox and run.state in LEAVING) or run.freezing:
        return
    if run.chunks.exclude(state=Chunk.State.CLOSED).exists():
        return
    wrong = [reference_of(number) for number in run.replaced_runs()]
    people = _next_people_with_items(run, wrong, after=0)
    while people:
        withdraw(people, wrong)
        people = _next_people_with_items(run, wrong, after=people[-1])


def _next_people_with_items(run: Run, wrong: list[str], *, after: int) -> list[int]:
    fits = compile_tree(run.rules)
    statement = WHOSE.format(source=joined(run.seen_since), fits=fits.sql)
    with connection.cursor() as cursor:
        cursor.execute(statement, [wrong, run.project_id, after, *fits.params, AT_ONCE])
        return [person for (person,) in cursor.fetchall()]
