"""Sampling: draws a stratified sample of a run's devices for a rehearsal, which asks FCM about it.

The sample has the audience's shares of platforms and languages, so FCM's answers hold for the rest.
It takes every k-th device of a list sorted by platform, then by language, then by chance. Each
device is equally likely to be drawn, and each stratum has its share, plus or minus one. The same
seed draws the same devices.
"""

from __future__ import annotations

import json
from typing import Any

from django.db import connection

from campaigns.audiences.behavior.kind import Sql
from campaigns.runs import ledger
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.variants import split

SHOWN_STRATA = 20  # values kept of platform and of language, the largest first

# One statement, so that the counted people are those drawn from. The list's start is random too.
DRAW = """
WITH found AS MATERIALIZED (
    SELECT contact_id, device_id, platform, locale, timezone, app_version FROM ({found}) anybody
), listed AS MATERIALIZED (
    SELECT found.*, count(*) OVER () AS devices, row_number() OVER (
        ORDER BY platform COLLATE "C", locale COLLATE "C",
            hashint8extended(device_id, %s), device_id
    ) + mod(%s, count(*) OVER ()) AS nth
    FROM found
), marked AS MATERIALIZED (
    SELECT *, devices <= %s OR nth * %s / devices > (nth - 1) * %s / devices AS drawn
    FROM listed
), written AS (
    INSERT INTO {table}
        (run_id, seq, contact_id, device_id, platform, locale, timezone, app_version, variant)
    SELECT %s, row_number() OVER (ORDER BY device_id), contact_id, device_id, platform, locale,
        timezone, app_version, {group}
    FROM marked WHERE drawn
    RETURNING 1
), strata AS (
    SELECT CASE grouping(platform, locale) WHEN 1 THEN 'platform' ELSE 'locale' END AS by,
        COALESCE(platform, locale, '') AS value, count(*) FILTER (WHERE drawn) AS drawn,
        count(*) AS devices
    FROM marked GROUP BY GROUPING SETS ((platform), (locale))
)
SELECT (SELECT count(*) FROM written), (SELECT count(*) FROM found),
    (SELECT count(DISTINCT contact_id) FROM found),
    (SELECT jsonb_agg(jsonb_build_array(by, value, drawn, devices) ORDER BY devices DESC, value)
    FROM strata)
"""


def of_run(run: Run) -> Rehearsal | None:
    """The run's rehearsal if it draws a sample; None: everybody is in the run."""
    rehearsal = run.rehearsal if run.is_rehearsal else None
    return rehearsal if rehearsal and rehearsal.sample is not None else None


def write(run: Run, rehearsal: Rehearsal, found: Sql) -> int:
    """Draw and write the recipients, and keep the size of the whole. Returns how many are drawn."""
    seed, size = rehearsal.seed, rehearsal.sample
    table = ledger.partition("campaigns_recipient", run.pk)
    groups = split.split_of_run(run)
    group = groups.group if groups else "NULL"
    with connection.cursor() as cursor:
        cursor.execute(
            DRAW.format(found=found.sql, table=table, group=group),
            [*found.params, seed, seed, size, size, size, run.pk],
        )
        written, devices, people, strata = cursor.fetchone()
    rows = json.loads(strata) if isinstance(strata, str) else strata
    Rehearsal.objects.filter(pk=run.pk).update(
        devices=devices, people=people, strata=_group_strata(rows or [])
    )
    return int(written)


def _group_strata(rows: list[list[Any]]) -> dict[str, dict[str, list[int]]]:
    strata: dict[str, dict[str, list[int]]] = {"platform": {}, "locale": {}}
    for by, value, drawn, devices in rows:
        if len(strata[by]) < SHOWN_STRATA:
            strata[by][value] = [drawn, devices]
    return strata
