"""Freezing: writes the audience of a run as numbered Recipients, and cuts them into Chunks.

It works in parts, by device: the first wave leaves while millions are still being frozen, and a
crash costs one part. The parts follow the ids of devices. An id stays when the device moves to
another person, so each device is read once, for its owner at that time.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Coalesce, Greatest, Now
from django.utils import timezone
from psycopg.types.range import Range

from campaigns.audiences import last_seen
from campaigns.audiences.audience import hold_lists
from campaigns.audiences.behavior import at_most
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.planned_people import GETS_IT, people_of
from campaigns.audiences.resolving.part import answered, names_runs
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.selection import compile_tree, drawn, joined
from campaigns.canary import choose_people
from campaigns.canary.first_part import HELD_UNTIL, FirstPart
from campaigns.engagement.opening import load_open_rate
from campaigns.engine import broken_runs, sampling
from campaigns.failpoints import hit
from campaigns.runs import best_hour, details, ledger, prior_recipients
from campaigns.runs.caps import reserved_places
from campaigns.runs.chunk import Chunk, size_for
from campaigns.runs.reasons import Cause
from campaigns.runs.run import LEAVING, Run
from campaigns.runs.variants import split

DEVICES_AT_ONCE = 100_000  # read for one part: half a second
CLOSE = 4  # people's ids that span up to 4 times the part's devices count as close together
RECIPIENTS = "campaigns_recipient"
TABLES = (RECIPIENTS, "campaigns_delivery")
NO_BEST_HOUR = """CROSS JOIN (
    VALUES (NULL::smallint, NULL::smallint, NULL::smallint)
) best (best_hour, opened_then, opened)"""


@dataclass(frozen=True)
class Part:
    """What one part added, and the id where the next part begins; None: nobody is left."""

    recipients: int
    people: int
    next: int | None
    hash: str = ""  # of all recipients, once everybody is frozen
    groups: dict[str, Any] = field(default_factory=dict)  # counts by group, once all are frozen


def freeze_next(run_id: int, *, now: datetime) -> None:
    """Freeze the first or next part, unless another process is freezing this run.

    The run's row is not locked meanwhile, so a pause or a cancel does not wait. If the process dies
    here: nothing of the part remains, and the next call freezes it.
    """
    with suppress(Run.InvalidMove), transaction.atomic():
        if not try_lock(run_id):
            return
        run = Run.driven.get(pk=run_id)
        begins = run.state == Run.State.PREPARING
        if not (begins or run.freezing):
            return
        if run.once_each:
            prior_recipients.lock_campaign(run)
            if begins and prior_recipients.must_wait(run):
                return
        if wrong := broken_runs.find_rules_problem(run):
            run.stop_for(Cause.BROKEN, details.make("rules_broken", problem=wrong))
        elif begins:
            _begin(run, now)
        else:
            _add(run)


def try_lock(run_id: int) -> bool:
    """Take the run's freezing lock until the transaction ends; False: another process holds it."""
    with connection.cursor() as cursor:
        key = f"freezing run {run_id}"
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        free: bool = cursor.fetchone()[0]
    return free


def _begin(run: Run, now: datetime) -> None:
    """Freeze the first part and start sending. For all but the largest projects it is everybody."""
    if deleted_lists := hold_lists(run.project_id, run.rules):
        # A deleted list has no members: people it should leave out would get the message.
        run.pause(Cause.BROKEN, details.make("list_gone", lists=sorted(deleted_lists)))
        return
    try:
        run.rules = drawn(run.project_id, rules_for_sql(run.project_id, run.rules))
    except ValidationError as error:
        run.stop_for(Cause.BROKEN, details.make("rules_broken", problem=error.messages[0]))
        return
    if not _set_rate_from_open_limit(run, now):
        run.stop_for(Cause.BROKEN, details.make("opens_unknown"))
        return
    for table in TABLES:
        ledger.detached_partition(table, run.pk)
    run.seen_since = last_seen.seen_since(run.project_id)  # for all parts
    run.split = split.split_at_freezing(run)  # so is this
    ids = range(_end_of_devices(run))
    goes_first = run.first_percent is not None
    part = _freeze_whole(run, ids) if goes_first else _freeze_devices(run, ids)
    ledger.refuse_twice(RECIPIENTS, run.pk)
    for table in TABLES:
        ledger.attach_partition(table, run.pk)
    settings = {name: getattr(run, name) for name in ("rules", "seen_since", "split", "opens_rate")}
    _keep(run, part, unfrozen=_unfrozen_rest(part, ids), started_at=_started_at(now), **settings)


def _started_at(now: datetime) -> Greatest:
    """When the run began: now, or later if it was paused while its people were chosen.

    It never begins before such a pause or before the resume. If the run is still paused, it begins
    when it is resumed.
    """
    paused_at = F("paused_at") + timedelta(microseconds=1)
    return Greatest(Value(now), paused_at, F("resumed_at"))


def _set_rate_from_open_limit(run: Run, now: datetime) -> bool:
    """Set the send rate from the limit of opens per second. Returns False if nothing is known of
    opens: the run must not send at full speed then."""
    if run.opens_per_second is None:
        return True
    opening = load_open_rate(run.project_id, now)
    if opening.known:
        run.opens_rate = opening.rate(run.opens_per_second)
    return opening.known


def _add(run: Run) -> None:
    ids = range(run.unfrozen.lower, run.unfrozen.upper)
    part = _freeze_devices(run, ids)
    _keep(run, part, unfrozen=_unfrozen_rest(part, ids))


def _unfrozen_rest(part: Part, ids: range) -> Range[int] | None:
    return None if part.next is None else Range(part.next, ids.stop)


def _keep(run: Run, part: Part, **values: object) -> None:
    """Save the part in the run's row, by one guarded UPDATE at its end. A pause stays a pause.

    Raises InvalidMove if the run was cancelled meanwhile: nothing of the part may remain.
    """
    sends = When(state=Run.State.PREPARING, then=Value(run.leaves_as))
    planned = Coalesce("planned", 0) + part.recipients
    if part.groups:
        values["split"] = {**run.split, **part.groups}
    states = (Run.State.PREPARING, *LEAVING, Run.State.PAUSED)
    saved = Run.driven.filter(pk=run.pk, state__in=states).update(
        state=Case(sends, default=F("state")),
        planned=planned,
        people=part.people,
        recipients_hash=part.hash,
        evaluated_at=Now() if part.next is None else None,
        **values,
    )
    if not saved:
        raise Run.InvalidMove
    if "started_at" in values:
        run.refresh_from_db()
        if run.state == Run.State.SENDING:
            run.tell()


def _freeze_devices(run: Run, ids: range) -> Part:
    part = _freeze(run, ids)
    if part.next is None:
        ledger.index_people(RECIPIENTS, run.pk)
    return part


def _freeze(run: Run, ids: range) -> Part:
    earlier_count = run.planned or 0
    # A sample is drawn from everybody in one part.
    following = None if sampling.of_run(run) else _begin_of_next(run, ids)
    recipients = _write_recipients(run, range(ids.start, following or ids.stop))
    if run.first_percent is None:  # else it is done for all parts together
        _keep_places(run, earlier_count)
        _cut(run, range(earlier_count + 1, earlier_count + recipients + 1))
    people = _people_of(run, whole=following is None)
    of_all = _hash_of(run) if following is None else ""
    groups = _groups_of(run) if following is None else {}
    hit("prepare")
    return Part(recipients, people, following, of_all, groups)


def _keep_places(run: Run, earlier_count: int) -> None:
    """Reserve frequency-cap places for the part's people.

    Runs of higher precedence get places for the people they will reach. This run gets places if a
    run of lower precedence is under way.
    """
    people_sql = f"SELECT contact_id FROM {ledger.partition(RECIPIENTS, run.pk)} WHERE seq > %s"
    now, last = timezone.now(), run.local_time.last if run.local_time else None
    above = reserved_places.higher_runs(run.project_id, run.precedence, run.caps, now, last=last)
    has_below = reserved_places.has_below(run)
    if above or has_below:
        reserved_places.take_turns(run.project_id)
    if has_below:
        reserved_places.keep(run.pk, f"{people_sql} AND {GETS_IT}", [earlier_count])
    for other in above:
        audience = people_of(other)
        both = f"SELECT * FROM ({audience.sql}) theirs WHERE contact_id IN ({people_sql})"
        reserved_places.keep(other.pk, both, [*audience.params, earlier_count])


def _freeze_whole(run: Run, ids: range) -> Part:
    """Freeze all parts in one transaction: the first part (canary) is drawn from everybody."""
    parts: list[range] = []
    while True:
        part = _freeze_devices(run, ids)
        begin = 1 + (run.planned or 0)
        parts.append(range(begin, begin + part.recipients))
        run.planned, run.people = begin - 1 + part.recipients, part.people
        if part.next is None:
            break
        ids = range(part.next, ids.stop)
    _keep_places(run, 0)
    _cut_drawn(run, parts)
    return Part(run.planned, part.people, None, part.hash, _groups_of(run))


def _cut_drawn(run: Run, parts: list[range]) -> None:
    table = ledger.partition(RECIPIENTS, run.pk)
    pieces = choose_people.drawn(run, parts, table)
    tries = split.split_of_run(run) if run.tries_variants else None
    for seqs, follows in pieces:
        if tries and not follows:
            tries.try_out(table, seqs)
        _cut(run, seqs, follows=follows)
    if any(piece.follows for piece in pieces):
        first = sum(len(piece.seqs) for piece in pieces if not piece.follows)
        FirstPart.objects.create(run=run, devices=first)


def _cut(run: Run, seqs: range, *, follows: bool = False) -> None:
    size = size_for(len(seqs))
    hold: dict[str, Any] = {"follows": True, "not_before": HELD_UNTIL} if follows else {}
    Chunk.objects.bulk_create(
        Chunk(
            run=run,
            number=number,
            first_seq=first,
            last_seq=min(first + size, seqs.stop) - 1,
            **hold,
        )
        for number, first in enumerate(seqs[::size], start=1 + run.chunks.count())
    )


def _end_of_devices(run: Run) -> int:
    """The id after the newest device. Devices registered later are left out: an erased person who
    registers again would be in the run twice."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 + COALESCE(max(id), 0) FROM notifications_device WHERE project_id = %s",
            [run.project_id],
        )
        end: int = cursor.fetchone()[0]
    return end


def _begin_of_next(run: Run, ids: range) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM notifications_device WHERE project_id = %s AND id >= %s AND id < %s"
            " ORDER BY id OFFSET %s LIMIT 1",
            [run.project_id, ids.start, ids.stop, DEVICES_AT_ONCE],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def _write_recipients(run: Run, ids: range) -> int:
    table = ledger.partition(RECIPIENTS, run.pk)
    devices = _found(run, ids)
    if cut := at_most.only(run.rules):
        devices = at_most.trimmed(devices, cut, table)
    if rehearsal := sampling.of_run(run):
        return sampling.write(run, rehearsal, devices)
    groups = split.split_of_run(run)
    group = (groups.rest if run.tries_variants else groups.group) if groups else "NULL"
    by_best_hour = run.local_time is not None and run.local_time.best_hour
    best = best_hour.join("found.contact_id") if by_best_hour else NO_BEST_HOUR
    with connection.cursor() as cursor:
        # Makes PostgreSQL read the part's people by index, not all the millions for each part.
        cursor.execute("SET LOCAL random_page_cost = 1.1")
        cursor.execute(
            f"INSERT INTO {table}"
            " (run_id, seq, contact_id, device_id, platform, locale, timezone, app_version,"
            " variant, best_hour, opened_then, opened)"
            f" SELECT %s, %s + row_number() OVER (ORDER BY {choose_people.order_of(run)}),"
            f" contact_id, device_id, platform, locale, timezone, app_version, {group},"
            f" best_hour, opened_then, opened FROM ({devices.sql}) found {best}",
            [run.pk, run.planned or 0, *devices.params],
        )
        written: int = cursor.rowcount
    return written


def _found(run: Run, ids: range) -> Sql:
    """SQL for the part's devices whose people match, with their place if the audience is limited
    to a number of people."""
    where, new = compile_tree(_rules_for_part(run, ids)), _not_yet_received(run)
    cut = at_most.only(run.rules)
    place = at_most.place_of(cut) if cut else Sql("NULL")
    select = (
        "SELECT c.id AS contact_id, d.id AS device_id, d.platform, c.locale, c.timezone,"
        f" d.app_version, {place.sql} AS place FROM {joined(run.seen_since)}"
        f" WHERE c.project_id = %s AND d.id >= %s AND d.id < %s AND {where.sql}"
        f" AND {new.sql}"
    )
    params = [*place.params, run.project_id, ids.start, ids.stop, *where.params, *new.params]
    return Sql(select, params)


def _not_yet_received(run: Run) -> Sql:
    if not (run.once_each and run.campaign_id):
        return Sql("TRUE")
    return Sql(*prior_recipients.not_received(run.campaign_id, except_run=run.pk))


def _rules_for_part(run: Run, ids: range) -> dict[str, Any]:
    """The run's rules, with rules on past runs already answered for the part's people.

    Only if the people's ids lie close together, as they do if they were written with their devices.
    """
    rules: dict[str, Any] = run.rules
    if not names_runs(rules):
        return rules
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT min(d.contact_id), max(d.contact_id) FROM notifications_device d"
            " WHERE d.project_id = %s AND d.id >= %s AND d.id < %s",
            [run.project_id, ids.start, ids.stop],
        )
        first, last = cursor.fetchone()
    if first is None or last - first >= CLOSE * DEVICES_AT_ONCE:
        return rules
    return answered(rules, first, last)


def _people_of(run: Run, *, whole: bool) -> int:
    """Count the people so far. Once everybody is frozen, count all anew: a person's devices may be
    in several parts."""
    recipients = ledger.partition(RECIPIENTS, run.pk)
    earlier_count = 0 if whole else run.planned or 0
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {recipients}")
        cursor.execute(
            f"SELECT count(DISTINCT contact_id) FROM {recipients} WHERE seq > %s", [earlier_count]
        )
        people: int = cursor.fetchone()[0]
    return people if whole else (run.people or 0) + people


def _groups_of(run: Run) -> dict[str, Any]:
    return split.count_groups(ledger.partition(RECIPIENTS, run.pk)) if run.split else {}


def _hash_of(run: Run) -> str:
    """A hash of the recipients: two 64-bit sums over all rows, independent of their order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COALESCE(sum(hashint8extended(contact_id, device_id)), 0),"
            " COALESCE(sum(hashint8extended(-device_id, contact_id)), 0)"
            f" FROM {ledger.partition(RECIPIENTS, run.pk)}"
        )
        return "".join(f"{int(part) % 2**64:016x}" for part in cursor.fetchone())
