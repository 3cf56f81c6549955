"""Lanes: check or merge an import part by part, with one PostgreSQL backend or two at once.

A part and the progress after it are one transaction. If the process dies here: the parts that were
committed are known, and the worker with the next lease does the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from django.db import OperationalError, connection, transaction

from notifications.people.importing import columns, staging, upload
from notifications.people.importing.merging.merge_part import Collided, Part
from notifications.people.importing.merging.parts import Parts, Span, progress
from notifications.people.importing.model import Import, keep
from notifications.postgres import clock
from notifications.postgres.outage import retry_during_outage
from notifications.values.registry import Registry

PEOPLE_AT_ONCE = 20_000  # rows; about a second
PEOPLE_AT_FIRST = 1_000  # then PostgreSQL counts them
ERASED_AT_ONCE = 1_000
WORTH_TWO = 100_000  # people left to merge; for fewer, one backend is enough
Ended = Callable[[Import], None]
# Each tells whether something more urgent than imports is under way.
urgent_work = Registry[Callable[[], bool]]()


def merge_next_parts(one: Import, ended: Ended, *, until: float) -> None:
    """Do one part, or with two backends all parts until `until`; finish if none is left."""
    first = not one.handled
    if first:
        _count_rows()
    parts = Parts(one)
    if not first and _may_be_two(one):
        _two_at_once(one, parts, until)
    elif not _next(one, parts):
        retry_during_outage(lambda: _end(one, ended), seconds=0)
    if first and one.under_way:
        _count_rows()


def _next(import_: Import, parts: Parts, *, in_two: bool = False) -> bool:
    """Do the next part. Returns False if there is none.

    If a person in it was created or erased meanwhile, the part is repeated. If that fails, too, a
    later `Parts` hands it out again.
    """
    span = retry_during_outage(lambda: parts.take(_rows(import_)), seconds=0)
    if span is None:
        return False
    do = partial(_do, import_, span, parts, in_two=in_two)
    if not _without_collision(partial(do, alone=True)):
        _without_collision(partial(do, alone=False))
    return True


def _without_collision(do: Callable[[], None]) -> bool:
    try:
        retry_during_outage(do, seconds=0)
    except Collided:
        return False
    return True


def _rows(import_: Import) -> int:
    if import_.mode == Import.Mode.REMOVE:
        return ERASED_AT_ONCE
    return PEOPLE_AT_ONCE if import_.handled else min(PEOPLE_AT_FIRST, PEOPLE_AT_ONCE)


def _do(import_: Import, span: Span, parts: Parts, *, in_two: bool, alone: bool) -> None:
    """Check or merge these people, completely or not at all."""
    with ExitStack() as when_committed, transaction.atomic():
        staging.without_waiting_for_the_disk()
        part = Part(
            import_, columns.columns_of(import_), span, now=clock.now(), in_two=in_two, alone=alone
        )
        checks = import_.state == Import.State.CHECKING
        part_counts, counts_field = (
            (part.foresee(), "foreseen") if checks else (part.merge(), "counts")
        )
        when_committed.enter_context(parts.committing)
        if not checks:
            part.remember(import_.handled)
        people = part_counts.pop("people")
        sums = Counter(getattr(import_, counts_field))
        sums.update(part_counts)
        values: dict[str, Any] = {counts_field: dict(sums), **progress(import_, span)}
        keep(import_, now=clock.now(), **values, handled=import_.handled + people)


# --- Two at once --------------------------------------------------------------------------------


def _may_be_two(import_: Import) -> bool:
    """Whether two backends may merge this import at once.

    The merge must only add, and be the only one of its project. Then two parts have no person, no
    device and no installation in common (see LAST_WORD). Neither waits for the other, and it does
    not matter which is done first. Nothing more urgent may be under way.
    """
    if (import_.state, import_.mode) != (Import.State.MERGING, Import.Mode.ADD):
        return False
    if import_.people - import_.handled < WORTH_TWO:
        return False
    others = Import.objects.filter(project=import_.project_id, state=Import.State.MERGING)
    return not others.exclude(pk=import_.pk).exists() and not any(
        is_under_way() for is_under_way in urgent_work
    )


def _two_at_once(import_: Import, parts: Parts, until: float) -> None:
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(_second, import_, parts, until)
        try:
            while _next(import_, parts, in_two=True) and time.monotonic() < until:
                pass
        except BaseException:
            parts.close()
            raise
    other.result()


def _second(import_: Import, parts: Parts, until: float) -> None:
    """Do parts in the second backend, which stops when something more urgent begins."""
    try:
        while _next(import_, parts, in_two=True) and time.monotonic() < until:
            if not _may_be_two(import_):
                break
    except BaseException:
        parts.close()
        raise
    finally:
        connection.close()


# --- Before the first part and after the last -----------------------------------------------------


def _count_rows() -> None:
    """Let PostgreSQL count people and devices, before and after the small first part.

    Its counts are from before the project's people came: it would expect one or two, and look
    through all of them for each row of the file. If another process counts at this moment, its
    counts are enough.
    """
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("ANALYZE notifications_contact, notifications_device")


def _end(import_: Import, ended: Ended) -> None:
    """Finish the import after its last part. Raises staging.Lost if some rows were missing."""
    if import_.handled < import_.people:
        raise staging.Lost
    now = clock.now()
    with transaction.atomic():
        if import_.state == Import.State.CHECKING:
            keep(import_, now=now, state=Import.State.CHECKED, done_up_to="", handled=0)
        else:
            keep(import_, now=now, state=Import.State.FINISHED, finished_at=now)
            staging.drop(import_)
            upload.forget(import_)
        ended(import_)
