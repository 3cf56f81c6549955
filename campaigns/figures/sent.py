"""Sent: how many messages of a project FCM has accepted in total, and so in any stretch of time.

The total only grows. So it is right however often it is counted, and even if a tick is missed: the
stretches are then known less finely, and nothing is counted twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import F, Min, QuerySet

from campaigns.runs.run import Run
from notifications.people.figures import DATED_KEPT, Figure, Levels, levels, midnight, prune
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow, statement_timeout

CAMPAIGNS, MESSAGES = Run.Kind.CAMPAIGN.value, Run.Kind.MESSAGES.value
OUTCOMES = ACCEPTED, FAILED = "accepted", "failed"
WHATS = [f"{kind}:{outcome}" for kind in (CAMPAIGNS, MESSAGES) for outcome in OUTCOMES]
COUNTING_SECONDS = 0.15  # time limit of a page: a day's messages may be 100,000 chunks
WEEK, WEEKS = timedelta(days=7), 4

# A run that has ended has its sums in its row; for the few others, their chunks are added up.
STAND = """
SELECT run.project_id, run.kind,
    sum(CASE WHEN ended THEN run.accepted ELSE chunks.accepted END),
    sum(CASE WHEN ended THEN run.rejected + run.unknown ELSE chunks.failed END)
FROM campaigns_run run
CROSS JOIN LATERAL (SELECT finished_at IS NOT NULL AND state <> 'open' AS ended) is_it
LEFT JOIN LATERAL (
    SELECT sum(accepted) AS accepted, sum(rejected + unknown) AS failed
    FROM campaigns_chunk WHERE run_id = run.id AND NOT ended
) chunks ON TRUE
WHERE run.started_at IS NOT NULL AND run.kind <> 'rehearsal' AND {whose} GROUP BY 1, 2
"""
EACH = """
SELECT project_id, kind || ':' || outcome AS what, COALESCE(level, 0)::bigint AS level
FROM ({stand}) AS stand (project_id, kind, accepted, failed)
CROSS JOIN LATERAL (VALUES ('accepted', accepted), ('failed', failed)) AS each (outcome, level)
"""
LAST = """
SELECT count FROM notifications_figure f
WHERE f.project_id = now.project_id AND f.what = now.what ORDER BY at DESC LIMIT 1
"""
KEEP = f"""
INSERT INTO notifications_figure (project_id, what, at, count, counted_at)
SELECT project_id, what, %(now)s, level, %(now)s
FROM ({EACH.format(stand=STAND.format(whose="TRUE"))}) now
WHERE level IS DISTINCT FROM COALESCE(({LAST}), 0)
ON CONFLICT (project_id, what, at) DO NOTHING
"""
# Levels before the first count, from the rows of ended runs. A day's messages count at its end.
BEFORE = """
INSERT INTO notifications_figure (project_id, what, at, count, counted_at)
SELECT project_id, what, at, sum(sum(ended)) OVER (PARTITION BY project_id, what ORDER BY at),
    %(now)s
FROM (
    SELECT project_id, kind || ':' || outcome AS what, ended, CASE kind WHEN 'messages'
        THEN least(finished_at, (occurrence::date + 1)::timestamp AT TIME ZONE 'UTC'
            - interval '1 s') ELSE finished_at END AS at
    FROM campaigns_run
    CROSS JOIN LATERAL (
        VALUES ('accepted', accepted), ('failed', rejected + unknown)
    ) AS each (outcome, ended)
    WHERE finished_at IS NOT NULL AND state <> 'open' AND kind <> 'rehearsal' AND ended > 0
) run
WHERE NOT EXISTS (
    SELECT FROM notifications_figure f WHERE f.project_id = run.project_id AND f.what = run.what
)
GROUP BY project_id, what, at
ON CONFLICT (project_id, what, at) DO NOTHING
"""


@dataclass(frozen=True)
class Stand:
    """A project's totals. `at`: when they were counted, if they could not be counted now."""

    counts: dict[str, int]
    at: datetime | None = None


def keep_levels(now: datetime) -> None:
    """Store the totals of all projects, and delete old ones.

    If the process dies here: the next tick writes what this one would have.
    """
    with connection.cursor() as cursor:
        cursor.execute(BEFORE, {"now": now})
        cursor.execute(KEEP, {"now": now})
    prune(WHATS, now - DATED_KEPT)


def stand_of(project: Project, now: datetime) -> Stand:
    """A project's totals now; if counting takes too long, those of the last tick."""
    nothing = dict.fromkeys(WHATS, 0)
    query = EACH.format(stand=STAND.format(whose="run.project_id = %(project)s"))
    try:
        with statement_timeout(seconds=COUNTING_SECONDS), connection.cursor() as cursor:
            cursor.execute(query, {"project": project.pk})
            return Stand(nothing | {what: int(level) for _, what, level in cursor.fetchall()})
    except TooSlow:
        stored = levels(project.pk, WHATS, [now])
        of_it = Figure.objects.filter(project=project, what__in=WHATS).order_by("-counted_at")
        return Stand(
            {what: stored[what, now] for what in WHATS},
            of_it.values_list("counted_at", flat=True).first() or now,
        )


@dataclass(frozen=True)
class SoFar:
    """What one kind of run has sent today. `usual`: the average by this time on this weekday."""

    accepted: int
    failed: int
    usual: float | None  # None if there is no week to compare with
    weeks: int = 0


def so_far(project: Project, stand: Stand, now: datetime) -> dict[str, SoFar]:
    """What was sent today, compared with the same time and weekday in the weeks before."""
    zone = ZoneInfo(project.timezone)
    today, here = midnight(project.timezone, now), now.astimezone(zone)
    # By the clock of the time zone: nine in the morning stays nine, summer and winter.
    same_times = [(here - WEEK * ago).astimezone(UTC) for ago in range(1, WEEKS + 1)]
    past_days = [(midnight(project.timezone, at), at) for at in same_times]
    moments = [today, *(moment for pair in past_days for moment in pair)]
    totals = _totals_at(project, moments)
    first = _first_moment(project)
    weeks = [pair for pair in past_days if first and first < pair[1]]

    def flow(what: str, begin: datetime, end: datetime) -> int:
        return max(0, totals[what, end] - totals[what, begin])

    def of(kind: str) -> SoFar:
        accepted, failed = f"{kind}:{ACCEPTED}", f"{kind}:{FAILED}"
        before = [flow(accepted, *pair) for pair in weeks]
        return SoFar(
            max(0, stand.counts[accepted] - totals[accepted, today]),
            max(0, stand.counts[failed] - totals[failed, today]),
            sum(before) / len(before) if before else None,
            len(before),
        )

    return {kind: of(kind) for kind in (CAMPAIGNS, MESSAGES)}


def stretches(project: Project, stand: Stand, moments: list[datetime]) -> list[dict[str, int]]:
    """What was sent from each of these moments to the next, by `WHATS`; the last goes until now."""
    totals = _totals_at(project, moments)
    at_ends = [{what: totals[what, at] for what in WHATS} for at in moments[1:]]
    begins = [{what: totals[what, at] for what in WHATS} for at in moments]
    return [
        {what: max(0, end[what] - begin[what]) for what in WHATS}
        for begin, end in zip(begins, [*at_ends, stand.counts], strict=True)
    ]


def _totals_at(project: Project, moments: list[datetime]) -> Levels:
    """The totals at these moments. Before the first tick, they come from runs ended by then."""
    if Figure.objects.filter(project=project, what__in=WHATS).exists():
        return levels(project.pk, WHATS, moments)
    totals = Counter({(what, at): 0 for what in WHATS for at in moments})
    for kind, ended_at, accepted, failed in _ended_runs(project).values_list(
        "kind", "finished_at", "accepted", F("rejected") + F("unknown")
    ):
        for at in moments:
            if ended_at <= at:
                totals[f"{kind}:{ACCEPTED}", at] += accepted
                totals[f"{kind}:{FAILED}", at] += failed
    return totals


def _first_moment(project: Project) -> datetime | None:
    """The earliest moment of which anything is known."""
    figures = Figure.objects.filter(project=project, what__in=WHATS)
    first: datetime | None = figures.aggregate(at=Min("at"))["at"]
    return first or _ended_runs(project).aggregate(at=Min("finished_at"))["at"]


def _ended_runs(project: Project) -> QuerySet[Run]:
    ended = Run.every.filter(project=project, finished_at__isnull=False)
    return ended.exclude(state=Run.State.OPEN)
