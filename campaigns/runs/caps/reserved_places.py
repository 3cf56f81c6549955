"""Places: which run of higher precedence is to come, so that this one leaves it a place?

A run of lower precedence writes down, as its people are chosen, for whom a place is kept; and so
does one that starts while a lower one is under way. A place counts until its run has ended or was
cancelled, or its time is a day past: nobody has to take it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection, models
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Now

from campaigns.runs.hours.local_time import AROUND_THE_EARTH
from campaigns.runs.run import Run
from notifications.people.consent.caps import A_DAY, Caps
from notifications.postgres.row_lock import wait_for_locks

ORDER = [Run.Precedence.LOW, Run.Precedence.NORMAL, Run.Precedence.HIGH]
# One that is just choosing people may have looked before the higher one was there.
UNDER_WAY = Q(planned__isnull=False) | Q(state=Run.State.PREPARING)
TO_COME = (Run.State.SCHEDULED, Run.State.PREPARING, Run.State.SENDING, Run.State.PAUSED)

PATIENCE_SECONDS = 60  # of who waits while another writes a million


class Place(models.Model):
    """A message that a person is to get of this run, whatever else is sent to them."""

    pk = models.CompositePrimaryKey("run_id", "contact_id")
    run_id = models.BigIntegerField()
    contact_id = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["contact_id"], name="places_of_person")]  # who is erased

    def __str__(self) -> str:
        return f"place of person {self.contact_id} in run {self.run_id}"


def above(
    project_id: int,
    precedence: str,
    caps: Caps | None,
    at: datetime,
    *,
    last: datetime | None = None,
) -> list[Run]:
    """The runs that win over one of this precedence, and come soon enough after it to meet it; that
    may ring somebody until `last`."""
    higher = ORDER[ORDER.index(Run.Precedence(precedence)) + 1 :]
    if not higher or caps is None or not caps.holds:
        return []
    to_come = _to_come(project_id).filter(
        _still(Value(at)), precedence__in=higher, scheduled_at__lt=(last or at) + caps.longest
    )
    return [run for run in to_come.select_related("project", "category", "campaign") if run.caps]


def kept_above(run: Run) -> list[int]:
    """Those of them for which places are kept. Messages to single people leave none."""
    if run.kind == Run.Kind.MESSAGES or run.precedence == ORDER[-1]:
        return []
    if run.caps_to_foresee is None or not run.caps_to_foresee.holds:
        return []
    with connection.cursor() as cursor:
        cursor.execute(*_kept_above(run.project_id, run.precedence))
        return [pk for (pk,) in cursor.fetchall()]


@lru_cache(maxsize=1_000)
def _kept_above(project_id: int, precedence: str) -> tuple[str, Sequence[Any]]:
    """Put together once: it is asked every second, and that was nearly all that it cost."""
    higher = ORDER[ORDER.index(Run.Precedence(precedence)) + 1 :]
    soon = _to_come(project_id).filter(_still(Now()), precedence__in=higher)
    kept = soon.filter(Exists(Place.objects.filter(run_id=OuterRef("pk"))))
    sql, params = kept.values_list("pk").query.sql_with_params()
    return sql, params


def has_below(run: Run) -> bool:
    """Whether one of lower precedence is under way."""
    lower = ORDER[: ORDER.index(Run.Precedence(run.precedence))]
    return (
        run.caps is not None
        and _to_come(run.project_id).filter(UNDER_WAY, precedence__in=lower).exists()
    )


def _still(now: Any) -> Q:
    """Whether somebody's time may be to come, or is less than a day past."""
    at_once = Q(hour__isnull=True, scheduled_at__gt=now - A_DAY)
    return at_once | Q(hour__isnull=False, scheduled_at__gt=now - AROUND_THE_EARTH - A_DAY)


def _to_come(project_id: int) -> QuerySet[Run]:
    campaigns = Run.objects.filter(project=project_id, kind=Run.Kind.CAMPAIGN)
    return campaigns.filter(state__in=TO_COME)


def take_turns(project_id: int) -> None:
    """Until the transaction ends, no other run of the project writes places. Two that leave some to
    the same run would wait for each other's rows, and crosswise for ever."""
    wait_for_locks(PATIENCE_SECONDS)
    with connection.cursor() as cursor:
        key = f"places of project {project_id}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])


def keep(run_id: int, people: str, params: Sequence[Any]) -> None:
    """For those whom the statement finds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO campaigns_place (run_id, contact_id)"
            f" SELECT DISTINCT %s::bigint, contact_id FROM ({people}) people"
            " ON CONFLICT DO NOTHING",
            [run_id, *params],
        )


# Of two workers who have a device each of somebody, the second sees what the first wrote.
HOLD = """
SELECT contact_id FROM campaigns_place WHERE run_id = %(run)s AND contact_id = ANY(%(contacts)s)
ORDER BY contact_id FOR UPDATE
"""
GIVE_BACK = """
DELETE FROM campaigns_place p
WHERE p.run_id = %(run)s AND p.contact_id = ANY(%(contacts)s) AND NOT EXISTS (
    SELECT FROM campaigns_recipient r
    WHERE r.run_id = %(run)s AND r.contact_id = p.contact_id AND NOT EXISTS (
        SELECT FROM campaigns_delivery x
        WHERE x.run_id = %(run)s AND x.seq = r.seq AND x.status IN ('skipped', 'rejected')))
"""


def give_back(run_id: int, contact_ids: Sequence[int]) -> None:
    """Of people whom the run surely did not reach on any of their devices: another run may."""
    if not contact_ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(HOLD, {"run": run_id, "contacts": [*contact_ids]})
        if held := [row[0] for row in cursor.fetchall()]:
            cursor.execute(GIVE_BACK, {"run": run_id, "contacts": held})


def remove_old() -> None:
    """Of runs that keep none any more."""
    to_come = Run.objects.filter(_still(Now()), state__in=TO_COME)
    Place.objects.exclude(run_id__in=to_come.values("pk")).delete()
