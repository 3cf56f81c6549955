"""Messages to many people: one text, and a row for each person.

A worker adds the rows of a long list, in parts. `list_after` in the first row has its progress: it
is empty when all rows are there.
"""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction

from campaigns.runs.messages.accepting import Accepted, columns_of
from campaigns.runs.messages.day import run_of_today
from campaigns.runs.messages.message import NUMBERS, Message, first_of, id_of, next_number
from campaigns.runs.run import Run
from notifications.postgres.row_lock import set_lock_timeout
from notifications.values import exact

AT_ONCE = 1_000  # people whose rows the call itself writes
CANCEL_SECONDS = 10  # wait for workers that take messages or add people: seconds, under load
PART = 5_000  # people of a long list in one transaction: about 0.1 s

HEAD = """
INSERT INTO campaigns_message (run_id, number, contact_id, content, variables, category_kind,
    category, on_unknown, ttl_seconds, collapse, inbox, state, at, bulk, list_id,
    list_after)
SELECT %(run)s, %(number)s, %(contact)s, content, variables, kind, category, on_unknown, ttl,
    collapse, inbox, 'waiting', COALESCE(at, statement_timestamp()), %(list)s::bigint IS NOT NULL,
    %(list)s, CASE WHEN %(list)s::bigint IS NOT NULL THEN %(contact)s END
FROM jsonb_to_record(%(row)s::jsonb) AS g (content jsonb, variables jsonb, kind text, category text,
    on_unknown text, ttl int, collapse text, inbox jsonb, at timestamptz)
"""
# The rows of the other people: without a text of their own, they share the first row's.
REST = f"""
INSERT INTO campaigns_message (run_id, number, contact_id, shares, category_kind, category,
    on_unknown, ttl_seconds, collapse, state, at, bulk)
SELECT h.run_id, nextval('{NUMBERS}'), people.id, h.number, h.category_kind, h.category,
    h.on_unknown, h.ttl_seconds, h.collapse, 'waiting', h.at, h.bulk
FROM unnest(%(people)s::bigint[]) AS people (id)
JOIN campaigns_message h ON h.run_id = %(run)s AND h.number = %(number)s
"""
MEMBERS = """
SELECT contact_id FROM campaigns_member WHERE audience_id = %(list)s AND contact_id > %(after)s
ORDER BY contact_id LIMIT %(most)s
"""


def members(list_id: int, *, after: int = 0, most: int) -> list[int]:
    """The ids of the next people of a list."""
    with connection.cursor() as cursor:
        cursor.execute(MEMBERS, {"list": list_id, "after": after, "most": most})
        return [contact for (contact,) in cursor.fetchall()]


def accept_many(
    project_id: int, one: dict[str, Any], people: list[int], *, list_id: int | None = None
) -> Accepted:
    """Store one message to many people; needs a transaction.

    With `list_id`, a worker adds the list's other members; `people` then has its first members.
    """
    number, run_id = next_number(), run_of_today(project_id)
    if deduplicate := one.get("deduplicate"):
        own_id = id_of(run_id, number)
        first = first_of(project_id, deduplicate["key"], own_id, deduplicate["window_seconds"])
        if first != own_id:
            return Accepted(first, again=True)
    values: dict[str, Any] = {"run": run_id, "number": number, "list": list_id}
    row = exact.dumps(columns_of(one)).decode()
    with connection.cursor() as cursor:
        cursor.execute(HEAD, values | {"contact": people[0], "row": row})
        cursor.execute(REST, values | {"people": people[1:]})
    return Accepted(id_of(run_id, number))


def unfolding() -> list[tuple[int, int]]:
    """The first rows of calls to long lists whose members do not all have a row yet."""
    heads = Message.objects.filter(list_after__isnull=False).order_by("number")
    return list(heads.values_list("run_id", "number")[:100])


def runs_unfolding(list_id: int) -> list[Run]:
    """The runs with a call to this list that has not a row for every member yet."""
    heads = Message.objects.filter(list_after__isnull=False, list_id=list_id)
    return list(Run.every.filter(pk__in=set(heads.values_list("run_id", flat=True))))


def unfold(run_id: int, number: int) -> bool:
    """Add a part of a long list. Returns whether more is left; False if another process adds it.

    If the process dies here: the part is not there, and the sweep has it done again.
    """
    with transaction.atomic():
        free = Message.objects.select_for_update(skip_locked=True, no_key=True)
        head = free.filter(run_id=run_id, number=number, list_after__isnull=False).first()
        if head is None or head.list_id is None:
            return False
        people = members(head.list_id, after=head.list_after or 0, most=PART)
        with connection.cursor() as cursor:
            cursor.execute(REST, {"people": people, "run": run_id, "number": number})
        more = len(people) == PART
        Message.objects.filter(run_id=run_id, number=number).update(
            list_after=people[-1] if more else None
        )
    return more


def cancel(head: Message) -> bool:
    """Cancel what has not left of a call. Returns whether there was any.

    If a worker takes a message at the same time, the lock decides which comes first.
    """
    with transaction.atomic():
        set_lock_timeout(CANCEL_SECONDS)
        # Before the others: no worker adds people to a call that is being cancelled.
        locked = Message.objects.select_for_update(no_key=True).filter(pk=head.pk).first()
        unfolded = locked is None or locked.list_after is None
        Message.objects.filter(pk=head.pk, list_after__isnull=False).update(list_after=None)
        waiting = of_call(head).filter(state=Message.State.WAITING)
        return bool(waiting.update(state=Message.State.CANCELLED)) or not unfolded


def of_call(head: Message) -> Any:
    """All rows of a call, given its first row; for a row that shares its text, only itself."""
    rows = Message.objects.filter(run_id=head.run_id)
    return rows.filter(number=head.number) | rows.filter(shares=head.number)
