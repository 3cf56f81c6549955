"""Skips by a new text: people who still wait and lack a value that the new text needs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences import reach
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.reach import Alike, Judged
from campaigns.forecast.skips import skipped
from campaigns.planning import campaign_variants
from campaigns.runs.revisions.revision import content_of
from campaigns.runs.run import Run
from campaigns.runs.variants import split
from campaigns.runs.variants import variant as variants
from campaigns.runs.variants.group import MAIN, REST
from campaigns.texts import liquid, preview
from notifications.people.consent import eligibility
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, statement_timeout

LOOKING_SECONDS = 2.0
MOST = 50_000  # waiting recipients looked at, by their numbers; a third of a second
MAX_GROUPS = 10_000

# Chunk by chunk: recipients of a closed chunk are not read.
WAITING = """
SELECT r.contact_id, r.device_id FROM campaigns_chunk k
CROSS JOIN LATERAL (
    SELECT r.contact_id, r.device_id FROM campaigns_recipient r
    WHERE r.run_id = %s AND r.seq BETWEEN k.first_seq AND k.last_seq
        AND (r.variant IS NULL OR r.variant = ANY(%s)) AND NOT EXISTS (
        SELECT FROM campaigns_delivery d WHERE d.run_id = %s AND d.seq = r.seq
            AND d.seq BETWEEN k.first_seq AND k.last_seq
    )
) r
WHERE k.run_id = %s AND k.state <> 'closed' ORDER BY k.number LIMIT %s
"""
ALIKE = f"""
SELECT c.locale, d.platform, ARRAY[{{lacking}}]::boolean[], count(*), min(c.external_id)
FROM ({WAITING}) w
JOIN notifications_contact c ON c.id = w.contact_id
JOIN notifications_device d ON d.id = w.device_id
{eligibility.JOIN}
WHERE {eligibility.skip_reason_sql("%s", "%s")} = ''
GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT {MAX_GROUPS}
"""


@dataclass(frozen=True)
class Skips:
    """How many waiting devices the new text would skip, and how many the current text skips."""

    devices: int
    before: int
    names: list[str]  # of the values that are missing
    exact: bool

    @property
    def more(self) -> bool:
        return self.devices > self.before

    @property
    def words(self) -> str:
        """A sentence: “1,200 of those waiting would be skipped …” for the new text and the old."""
        text = _("%(count)s of those waiting would be skipped for lack of %(names)s.")
        names = ", ".join(f"“{name}”" for name in self.names)
        counted = {"count": skipped.count_in_words(self.devices, self.exact), "names": names}
        now = _("With the text as it is now: %(count)s.")
        before = {"count": skipped.count_in_words(self.before, self.exact)}
        return f"{text % counted} {now % before}"


def foretold(run: Run, content: Mapping[str, Any], variant: int = MAIN) -> Skips | None:
    """Count the waiting devices that this content would skip; None if counting takes too long."""
    before = content_of(run, variant=variant)
    paths = sorted({*preview.needed(before), *preview.needed(content)}, key=str)
    if not paths:
        return Skips(0, 0, [], exact=True)
    with suppress(TooSlow, ValidationError):
        if run.planned is None:
            judged = _judge_audience(run, paths, variant)
        else:
            judged = _judge_waiting(run, paths, variant)
        sure = not preview.depends(content) and not preview.depends(before)
        lost = _count_lost(content, paths, judged.groups)
        return Skips(
            sum(lost.values()),
            sum(_count_lost(before, paths, judged.groups).values()),
            names=sorted({liquid.written(path) for lacking in lost for path in lacking}),
            exact=judged.exact and sure,
        )
    return None


def pick_person(run: Run, variant: int = MAIN) -> Contact | None:
    """Return a waiting person, to preview the new text as they would read it."""
    if run.planned is None:
        return preview.pick_person(run.project)
    with (
        suppress(TooSlow),
        statement_timeout(seconds=LOOKING_SECONDS),
        connection.cursor() as cursor,
    ):
        cursor.execute(WAITING, _waiting_params(run, variant, 1))
        if row := cursor.fetchone():
            return Contact.objects.filter(pk=row[0]).first()
    return None


def _count_lost(
    content: Mapping[str, Any], paths: list[liquid.Path], groups: list[Alike]
) -> dict[frozenset[liquid.Path], int]:
    """Count the devices that this text would skip, by the needed values that they lack."""
    needed_by = cache(partial(preview.needed_by, content))
    counts: dict[frozenset[liquid.Path], int] = {}
    for group in groups:
        needed = needed_by(group.locale, group.platform)
        lacks = zip(paths, group.holds, strict=True)
        lacking = frozenset(path for path, lack in lacks if lack and path in needed)
        if lacking:
            counts[lacking] = counts.get(lacking, 0) + group.devices
    return counts


def _waiting_params(run: Run, variant: int, most: int) -> list[Any]:
    """Return the parameters of WAITING: with variants, for people who read that one, or may."""
    includes_rest = _open_trial(run) or variants.read_by(run, REST) == variant
    groups = [variant, REST] if includes_rest else [variant]
    return [run.pk, groups, run.pk, run.pk, most]


def _open_trial(run: Run) -> bool:
    """Whether a trial is undecided: until then, the rest may get any of its texts."""
    return run.tries_variants and run.winner is None


def _judge_waiting(run: Run, paths: list[liquid.Path], variant: int) -> Judged:
    lacks = [skipped.lacks(path) for path in paths]
    statement = ALIKE.format(lacking=", ".join(lack.sql for lack in lacks))
    params = [param for lack in lacks for param in lack.params]
    consent = [run.asks["marketing"], run.asks["category"]]
    with statement_timeout(seconds=LOOKING_SECONDS), connection.cursor() as cursor:
        cursor.execute(statement, [*params, *_waiting_params(run, variant, MOST), *consent])
        groups = [Alike(*row) for row in cursor.fetchall()]
    looked_at = sum(group.devices for group in groups)
    return Judged(groups, exact=looked_at < MOST and not run.freezing)


def _judge_audience(run: Run, paths: list[liquid.Path], variant: int) -> Judged:
    """Judge the people who would be chosen now: the run has no recipients yet. With variants, count
    the share that is meant to read that variant, or may."""
    total = reach.quick(run.project_id, run.rules)
    lacks = [skipped.lacks(path) for path in paths]
    conditions = [Sql(f"(out = '' AND {lack.sql})", lack.params) for lack in lacks]
    judged = reach.judged(
        run.project_id, run.rules, conditions, total, run.asks, seconds=LOOKING_SECONDS
    )
    groups = split.split_of_run(run)
    if groups is None:
        return replace(judged, exact=judged.exact and total.exact)
    if _open_trial(run):
        groups = replace(groups, tried=campaign_variants.share_tried(run, total.devices))
    shares = groups.shares()
    share = shares[variant] + shares.get(REST, 0.0)
    variant_groups = [
        replace(alike, devices=round(alike.devices * share)) for alike in judged.groups
    ]
    return replace(judged, groups=variant_groups, exact=False)
