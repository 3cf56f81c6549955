"""Reserved places: the messages under frequency caps that are kept for runs of higher precedence.

A run of lower precedence writes places for higher runs when its people are chosen. A run that
starts while a lower one is under way writes places for itself. A place counts until its run has
ended or was cancelled, or its time is a day past: nothing has to remove it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connection, models
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Now

from campaigns.runs.local_time import AROUND_THE_EARTH
from campaigns.runs.run import Run
from notifications.people.consent.caps import A_DAY, Caps
from notifications.postgres.row_lock import set_lock_timeout

ORDER = [Run.Precedence.LOW, Run.Precedence.NORMAL, Run.Precedence.HIGH]
# Includes runs that are choosing people: they may have looked before the higher run existed.
UNDER_WAY = Q(planned__isnull=False) | Q(state=Run.State.PREPARING)
TO_COME = (Run.State.SCHEDULED, Run.State.PREPARING, Run.State.SENDING, Run.State.PAUSED)

PATIENCE_SECONDS = 60  # how long a run waits while another one writes a million places


class Place(models.Model):
    """A message of this run that is reserved for a person under frequency caps."""

    pk = models.CompositePrimaryKey("run_id", "contact_id")
    run_id = models.BigIntegerField()
    contact_id = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["contact_id"], name="places_of_person")]  # for erasure

    def __str__(self) -> str:
        return f"place of person {self.contact_id} in run {self.run_id}"


def higher_runs(
    project_id: int,
    precedence: str,
    caps: Caps | None,
    at: datetime,
    *,
    last: datetime | None = None,
) -> list[Run]:
    """The runs of higher precedence that come soon enough to share a cap's period with this one.

    This one may send from `at` until `last`.
    """
    higher = ORDER[ORDER.index(Run.Precedence(precedence)) + 1 :]
    if not higher or caps is None or not caps.holds:
        return []
    to_come = _coming_runs(project_id).filter(
        _is_still_due(Value(at)),
        precedence__in=higher,
        scheduled_at__lt=(last or at) + caps.longest,
    )
    return [run for run in to_come.select_related("project", "category", "campaign") if run.caps]


def kept_above(run: Run) -> list[int]:
    """The runs of higher precedence for which places are kept. Messages to single people leave them
    none."""
    if run.kind == Run.Kind.MESSAGES or run.precedence == ORDER[-1]:
        return []
    if run.caps_to_foresee is None or not run.caps_to_foresee.holds:
        return []
    with connection.cursor() as cursor:
        cursor.execute(*_kept_above(run.project_id, run.precedence))
        return [pk for (pk,) in cursor.fetchall()]


@lru_cache(maxsize=1_000)
def _kept_above(project_id: int, precedence: str) -> tuple[str, Sequence[Any]]:
    """The SQL of `kept_above`, built once: it runs every second, and building it was nearly all of
    its cost."""
    higher = ORDER[ORDER.index(Run.Precedence(precedence)) + 1 :]
    soon = _coming_runs(project_id).filter(_is_still_due(Now()), precedence__in=higher)
    with_places = soon.filter(Exists(Place.objects.filter(run_id=OuterRef("pk"))))
    sql, params = with_places.values_list("pk").query.sql_with_params()
    return sql, params


def has_below(run: Run) -> bool:
    """Whether a run of lower precedence is under way."""
    lower = ORDER[: ORDER.index(Run.Precedence(run.precedence))]
    return (
        run.caps is not None
        and _coming_runs(run.project_id).filter(UNDER_WAY, precedence__in=lower).exists()
    )


def _is_still_due(now: Any) -> Q:
    """Whether a person's time in the run may be to come, or is less than a day past."""
    at_once = Q(hour__isnull=True, scheduled_at__gt=now - A_DAY)
    return at_once | Q(hour__isnull=False, scheduled_at__gt=now - AROUND_THE_EARTH - A_DAY)


def _coming_runs(project_id: int) -> QuerySet[Run]:
    campaigns = Run.objects.filter(project=project_id, kind=Run.Kind.CAMPAIGN)
    return campaigns.filter(state__in=TO_COME)


def take_turns(project_id: int) -> None:
    """Until the transaction ends, no other run of the project writes places. Two runs that leave
    places to the same run could deadlock on each other's rows."""
    set_lock_timeout(PATIENCE_SECONDS)
    with connection.cursor() as cursor:
        key = f"places of project {project_id}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])


def keep(run_id: int, people: str, params: Sequence[Any]) -> None:
    """Keep places for the people whom the statement finds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO campaigns_place (run_id, contact_id)"
            f" SELECT DISTINCT %s::bigint, contact_id FROM ({people}) people"
            " ON CONFLICT DO NOTHING",
            [run_id, *params],
        )


# Two workers may have one device each of a person: the second one sees what the first wrote.
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
    """Remove the places of people whom the run surely reached on none of their devices: another
    run may then reach them."""
    if not contact_ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(HOLD, {"run": run_id, "contacts": [*contact_ids]})
        if held_ids := [row[0] for row in cursor.fetchall()]:
            cursor.execute(GIVE_BACK, {"run": run_id, "contacts": held_ids})


def remove_old() -> None:
    """Remove the places of runs for which they no longer count."""
    to_come = Run.objects.filter(_is_still_due(Now()), state__in=TO_COME)
    Place.objects.exclude(run_id__in=to_come.values("pk")).delete()
