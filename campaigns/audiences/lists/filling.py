"""Filling a static list with the people who match rules at one moment, or came with an import.

It is done in parts, each a short transaction, because a list may have as many people as the
project. The web request works for a second or two, which is enough for most lists. A task does the
rest.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Min, Q
from django.utils import translation
from django.utils.translation import get_language, gettext

from campaigns.audiences.audience import Audience, hold_lists
from campaigns.audiences.behavior import at_most, past
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.bounds import leaves
from campaigns.audiences.resolving.covered_runs import forgotten
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.selection import compile_tree, drawn, people_and_devices
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.importing.model import Import, ImportBatch
from notifications.people.locking import lock_people_against_erasure
from notifications.postgres.budget import TooSlow, statement_timeout

log = logging.getLogger(__name__)

PEOPLE_AT_ONCE = 50_000  # people checked in one part: about a second
BATCHES_AT_ONCE = 2  # batches of an import, 20,000 people each
AT_ONCE_SECONDS = 1.5  # of a web request
LAST_ID = 2**63 - 1
MAX_REASON = 500
TO_DO = Q(filling__isnull=False) & ~Q(filling__has_key="problem")


def begin(project_id: int, name: str, tree: dict[str, Any], *, run: Run | None = None) -> Audience:
    """Create an empty list for the people who match the rules now. Raises ValidationError.

    Later changes have no effect: nested audiences and the runs it covers are settled here. `run`:
    the run whose people these are; the list grows only while that run is finished.
    """
    filling = {
        "rules": rules_for_sql(project_id, tree),
        "after": 0,
        "to": _newest_person(project_id),
    }
    filling |= {"language": get_language() or "en"} | ({"run": run.pk} if run else {})
    return Audience.objects.create(
        project_id=project_id,
        name=free_name(project_id, name),
        kind=Audience.Kind.LIST,
        filling=filling,
    )


def begin_of_import(project_id: int, name: str, import_id: int) -> Audience:
    """Create an empty list for everybody an import created or found."""
    return Audience.objects.create(
        project_id=project_id,
        name=free_name(project_id, name),
        kind=Audience.Kind.LIST,
        filling={"import": import_id, "after": -1, "language": get_language() or "en"},
    )


def at_once(audience: Audience) -> bool:
    """Add as many people as a web request has time for. Returns whether that was all."""
    with suppress(TooSlow), statement_timeout(seconds=2 * AT_ONCE_SECONDS):
        work(audience.pk, seconds=AT_ONCE_SECONDS)
    audience.refresh_from_db()
    return audience.filling is None


def work(audience_id: int, *, seconds: float) -> bool:
    """Add part after part. Returns whether there is more to do.

    If the process dies here: the unfinished part is rolled back, and the next call does it again.
    """
    ends = time.monotonic() + seconds
    while True:
        if not _add_part(audience_id):
            return False
        if time.monotonic() >= ends:
            return True


def unfinished() -> list[int]:
    """Lists to fill, for the sweep: the process that was filling them may have died."""
    return list(Audience.objects.filter(TO_DO).values_list("pk", flat=True))


def give_up(audience_id: int, problem: str) -> None:
    """Stop filling a list, and store why. Its page says why and what to do; nothing retries it.

    If the process dies here: the sweep has the list tried again, and it is given up then.
    """
    with transaction.atomic():
        audiences = Audience.objects.select_for_update(no_key=True).filter(TO_DO, pk=audience_id)
        for audience in audiences:
            failed = {**(audience.filling or {}), "problem": problem[:MAX_REASON]}
            Audience.objects.filter(pk=audience.pk).update(filling=failed)


def try_again(audience: Audience) -> bool:
    """Continue a list that was given up, from where it stopped. Returns whether it was given up."""
    with transaction.atomic():
        rows = Audience.objects.select_for_update(no_key=True).filter(pk=audience.pk)
        audience_given_up = rows.filter(filling__has_key="problem").first()
        if audience_given_up is None:
            return False
        filling = {
            name: value
            for name, value in (audience_given_up.filling or {}).items()
            if name != "problem"
        }
        rows.update(filling=filling)
    return True


@dataclass(frozen=True)
class Standing:
    """How much of a list is filled. `problem`: why it does not grow any further."""

    share: int  # percent
    problem: str


def standing(audience: Audience) -> Standing | None:
    """How much of the list is filled; None if it is complete."""
    filling = audience.filling
    if filling is None:
        return None
    problem = str(filling.get("problem", ""))
    share = _share_of_import if "import" in filling else _share_of_rules
    return Standing(round(100 * min(1.0, share(audience, filling))), problem)


def _share_of_import(audience: Audience, filling: dict[str, Any]) -> float:
    batches = ImportBatch.objects.filter(owner=filling["import"])
    done = batches.filter(number__lte=filling["after"]).count()
    return done / max(1, batches.count())


def _share_of_rules(audience: Audience, filling: dict[str, Any]) -> float:
    """Estimate the share from how much of the range of ids is done: about right."""
    first = Contact.objects.filter(project=audience.project_id).aggregate(at=Min("pk"))["at"] or 0
    done, all_of_them = int(filling["after"]) - first, int(filling["to"]) - first
    return max(0, done) / max(1, all_of_them)


# The people are chosen once, whatever PostgreSQL expects: of a project that is newer than its
# statistics it expects one person, and would choose them again for each. “+ 0” keeps it from
# reading the project's people instead of those that were chosen.
ADD = """
WITH chosen (id) AS MATERIALIZED ({people})
INSERT INTO campaigns_member (audience_id, contact_id)
SELECT %s, c.id FROM chosen JOIN notifications_contact c ON c.id = chosen.id
WHERE c.project_id + 0 = %s
ORDER BY c.external_id FOR KEY SHARE OF c
ON CONFLICT DO NOTHING
"""


def add(audience: Audience, people: Sql) -> int:
    """Add the people found by a SELECT of contact ids, in one statement.

    Only people of this project. Returns how many were added.
    """
    with connection.cursor() as cursor:
        params = [*people.params, audience.pk, audience.project_id]
        cursor.execute(ADD.format(people=people.sql), params)
        added: int = cursor.rowcount
    return added


def _add_part(audience_id: int) -> bool:
    with transaction.atomic():
        free = Audience.objects.select_for_update(skip_locked=True, no_key=True)
        audience = free.filter(TO_DO, pk=audience_id).first()
        if audience is None:  # complete, deleted, given up, or locked by another process
            return False
        filling: dict[str, Any] = dict(audience.filling or {})
        if "run" in filling and not _run_is_finished(audience, filling):
            return False
        part = _part_of_import if "import" in filling else _part_of_rules
        try:
            with translation.override(filling.get("language", "en")):
                rest = part(audience, filling)
        except ValidationError as error:
            log.warning("list=%s cannot be filled: %s", audience_id, error.messages[0])
            rest = {**(audience.filling or {}), "problem": error.messages[0][:MAX_REASON]}
        Audience.objects.filter(pk=audience.pk).update(filling=rest)
        return rest is not None and "problem" not in rest


def _run_is_finished(audience: Audience, filling: dict[str, Any]) -> bool:
    """Whether the list's run is finished; it then stays so until the part ends.

    If not, the sweep tries again. Between two parts, a user may send the run again. Recipients who
    then wait are neither reached nor unknown, and would count as surely not reached. People already
    on the list may be reached. So once the run has finished again, the list is filled from the
    start.
    """
    ended = _run_end(filling["run"])
    if ended and ended != filling.setdefault("ended", ended):
        lock_people_against_erasure(audience.members.values_list("contact", flat=True))
        audience.members.all().delete()
        filling |= {"ended": ended, "after": 0}
    return bool(ended)


def _run_end(run_id: int) -> str | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT finished_at::text FROM campaigns_run WHERE id = %s AND forgotten_at IS NULL"
            " AND finished_at IS NOT NULL FOR SHARE",
            [run_id],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def waits_for(audience: Audience) -> Run | None:
    """The run whose outcome the list waits for; None if it waits for none.

    The run is still going on, or its recipients were removed, so that its outcome will never be
    known.
    """
    filling = audience.filling or {}
    held = Q(finished_at=None) | Q(forgotten_at__isnull=False)
    return Run.objects.filter(held, pk=filling["run"]).first() if "run" in filling else None


def _part_of_rules(audience: Audience, filling: dict[str, Any]) -> dict[str, Any] | None:
    """Add one part of the people who match the rules. Returns what is left to do, or None.

    Raises ValidationError if something that the rules refer to is gone: a list that only looks
    complete would reach, or leave out, the wrong people.
    """
    _refuse_gone(audience.project_id, filling["rules"])
    filling["rules"] = _draw_once(audience.project_id, filling["rules"], filling["after"])
    following = _end_of_part(audience.project_id, filling["after"], filling["to"])
    add(audience, _next_people(audience, filling, following or filling["to"]))
    return {**filling, "after": following} if following else None


def _refuse_gone(project_id: int, tree: dict[str, Any]) -> None:
    values = [leaf["value"] for leaf in leaves(tree) if leaf["field"] == past.FIELD]
    forgotten_runs = sum(forgotten(project_id, value) for value in values)
    if hold_lists(project_id, tree) or forgotten_runs:
        raise ValidationError(gettext("A list or a run that its rules ask about is gone."))


def _part_of_import(audience: Audience, filling: dict[str, Any]) -> dict[str, Any] | None:
    """Add the people of the import's next batches. Returns what is left to do, or None."""
    whole = ImportBatch.objects.filter(owner=filling["import"])
    brought = Import.objects.filter(pk=filling["import"], handled__gt=0)
    if brought.exists() and not whole.exists():
        raise ValidationError(gettext("Whom this import brought is no longer kept."))
    batches = whole.filter(number__gt=filling["after"])
    numbers = list(batches.order_by("number").values_list("number", flat=True)[:BATCHES_AT_ONCE])
    touched = (
        "SELECT unnest(contact_ids) FROM notifications_importbatch"
        " WHERE owner_id = %s AND number = ANY(%s)"
    )
    add(audience, Sql(touched, [filling["import"], numbers]))
    return {**filling, "after": numbers[-1]} if len(numbers) == BATCHES_AT_ONCE else None


def _draw_once(project_id: int, tree: dict[str, Any], after: int) -> dict[str, Any]:
    return tree if after else drawn(project_id, tree)


def _next_people(audience: Audience, filling: dict[str, Any], until: int) -> Sql:
    where = compile_tree(filling["rules"])
    select = (
        f"SELECT DISTINCT c.id FROM {people_and_devices(audience.project_id)}"
        f" WHERE c.project_id = %s AND c.id > %s AND c.id <= %s AND {where.sql}"
    )
    people = Sql(select, [audience.project_id, filling["after"], until, *where.params])
    if cut := at_most.only(
        filling["rules"]
    ):  # some people may match only since the last one was drawn
        room = max(0, cut["value"]["most"] - audience.members.count())
        people = Sql(f"{people.sql} LIMIT %s", [*people.params, room])
    return people


def _end_of_part(project_id: int, after: int, to: int) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM notifications_contact WHERE project_id = %s AND id > %s AND id < %s"
            " ORDER BY id OFFSET %s LIMIT 1",
            [project_id, after, to, PEOPLE_AT_ONCE - 1],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def _newest_person(project_id: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COALESCE(max(id), 0) FROM notifications_contact WHERE project_id = %s",
            [project_id],
        )
        newest: int = cursor.fetchone()[0]
    return newest


def free_name(project_id: int, wanted: str) -> str:
    """The name, with a number added if another audience has it."""
    taken = set(Audience.objects.filter(project=project_id).values_list("name", flat=True))
    numbered = (wanted[:100], *(f"{wanted[:94]} {n}" for n in range(2, len(taken) + 3)))
    return next(name for name in numbered if name not in taken)
