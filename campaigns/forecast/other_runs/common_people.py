"""Overlap: how many people match both of two rules, on any of their devices."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import redis
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import connection

from campaigns.audiences import estimating, last_seen
from campaigns.audiences.reach import as_meant
from campaigns.audiences.selection import compile_tree, people_and_devices
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.values import row_versions

Tree = dict[str, Any]
KEPT = 600  # seconds

BOTH = """
SELECT count(*) FROM (
    SELECT c.id FROM {source} WHERE c.project_id = %s AND d.id IS NOT NULL
    AND ({one} OR {other}) GROUP BY c.id HAVING bool_or({one}) AND bool_or({other})
) people
"""


@dataclass(frozen=True)
class Overlap:
    people: int
    exact: bool


def count_overlap(project_id: int, one: Tree, other: Tree) -> Overlap | None:
    """Count the people who match both rules, or estimate from a part if counting takes too long.

    None if the estimate takes too long as well, or the rules are broken. The result is kept for
    some minutes: each day of two series asks for the same.
    """
    key = "-".join(["both", str(project_id), *sorted(map(row_versions.mark, (one, other)))])
    with suppress(redis.RedisError):
        if isinstance(cached := cache.get(key), list):
            return Overlap(*cached)
    overlap = _count_or_estimate(project_id, one, other)
    if overlap is not None:
        with suppress(redis.RedisError):
            cache.set(key, [overlap.people, overlap.exact], KEPT)
    return overlap


def _count_or_estimate(project_id: int, first_rules: Tree, second_rules: Tree) -> Overlap | None:
    with suppress(TooSlow, ValidationError), statement_timeout(seconds=estimating.SAMPLE_SECONDS):
        return Overlap(_count(project_id, first_rules, second_rules, None), exact=True)
    with suppress(TooSlow, ValidationError), statement_timeout(seconds=estimating.PART_SECONDS):
        part = estimating.part(1, last_seen.seen_since(project_id), project_id)
        return Overlap(part.all(_count(project_id, first_rules, second_rules, part)), exact=False)
    return None


def _count(
    project_id: int, first_rules: Tree, second_rules: Tree, part: estimating.Part | None
) -> int:
    first, second = (
        compile_tree(as_meant(project_id, tree, part)) for tree in (first_rules, second_rules)
    )
    source = part.source if part else people_and_devices(project_id)
    statement = BOTH.format(source=source, one=first.sql, other=second.sql)
    params = [*first.params, *second.params]
    with connection.cursor() as cursor:
        cursor.execute(statement, [project_id, *params, *params])
        people: int = cursor.fetchone()[0]
    return people
