"""Split: divides the people of a run into groups, and says how large each should be.

A hash of the person and a seed, computed in PostgreSQL, decides. So a person is in the same group
whichever process freezes the part, however often it is tried, and in every run of a series. The
holdout uses a seed of the project: the same people in every campaign, and more when it grows.

A run keeps this in `split`: {} if everybody gets the same text. Else the seed, the variants'
weights, the run that keeps their texts, and the holdout as it was when the freezing began. Once
everybody is frozen, also how many people and devices are in each group.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from django.db import connection

from campaigns.runs.run import Run
from campaigns.runs.variants.group import CONTROL, HOLDOUT, MAIN, REST
from notifications.people.consent.category import Category
from notifications.people.project import Project

WHOLE = 10_000  # parts of the people: a hundredth of a percent is the finest share
A_PERCENT = WHOLE // 100
MAX_SEED = 2**53  # every JSON parser keeps integers up to this exactly
EXEMPT = (Category.Kind.TRANSACTIONAL, Category.Kind.CRITICAL)


@dataclass(frozen=True)
class Split:
    """How a run's people are split: shares in percent of everybody, weights of those who get a
    text."""

    seed: int
    weights: tuple[int, ...]
    control: int = 0
    holdout: int = 0
    holdout_seed: int = 0
    tried: float = 1.0  # share of those who get a text; the rest waits for the best one

    @property
    def group(self) -> str:
        """SQL for the group of `contact_id`. Each decision has its own hash: being in the control
        group says nothing about the variant that the person would have had."""
        return self._unless_left_out_sql(self._variant_sql)

    @property
    def rest(self) -> str:
        """The same, before the people who try the variants are drawn."""
        return self._unless_left_out_sql(str(REST))

    def _unless_left_out_sql(self, variant: str) -> str:
        return (
            f"CASE WHEN {_place_sql(self.holdout_seed)} < {self.holdout * A_PERCENT} THEN {HOLDOUT}"
            f" WHEN {_place_sql(self.seed)} < {self.control * A_PERCENT} THEN {CONTROL}"
            f" ELSE {variant} END"
        )

    @property
    def _variant_sql(self) -> str:
        which = [
            f"WHEN {_place_sql(self.seed + 1)} < {end} THEN {n}" for n, end in self._variant_ends()
        ]
        return f"CASE {' '.join(which)} END" if len(which) > 1 else str(MAIN)

    def try_out(self, table: str, seqs: range) -> None:
        """Draw a variant for each of these recipients: they try the variants.

        It runs in the transaction that wrote their rows, so nobody ever sees another group there.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET variant = {self._variant_sql}"
                " WHERE seq >= %s AND seq < %s AND variant = %s",
                [seqs.start, seqs.stop, REST],
            )

    def _variant_ends(self) -> list[tuple[int, int]]:
        """For each variant: its number, and where its range ends among the WHOLE parts."""
        all_of_them = sum(self.weights)
        sums = accumulate(self.weights)
        return [(number, round(WHOLE * end / all_of_them)) for number, end in enumerate(sums)]

    def shares(self) -> dict[int, float]:
        """The expected share of everybody in each group, 0 to 1. Only groups that exist."""
        rest = (1 - self.holdout / 100) * (1 - self.control / 100)
        tried = rest * self.tried / sum(self.weights)
        by_variant = {n: tried * weight for n, weight in enumerate(self.weights)}
        waits = {REST: rest * (1 - self.tried)} if self.tried < 1 else {}
        nothing = {
            CONTROL: (1 - self.holdout / 100) * self.control / 100,
            HOLDOUT: self.holdout / 100,
        }
        return {
            **by_variant,
            **waits,
            **{group: share for group, share in nothing.items() if share},
        }

    @property
    def left_out(self) -> float:
        """The share of everybody that gets nothing on purpose."""
        shares = self.shares()
        return shares.get(CONTROL, 0.0) + shares.get(HOLDOUT, 0.0)


def _place_sql(seed: int, contact: str = "contact_id") -> str:
    """SQL for a person's place from 0 to WHOLE - 1. The sign is cut off, or the remainder could be
    negative."""
    return f"mod(hashint8extended({contact}, {int(seed)}) & {2**63 - 1}, {WHOLE})"


def split_at_launch(weights: Sequence[int], *, control: int) -> dict[str, Any]:
    """The split that a launch freezes; empty if everybody gets the main text."""
    if len(weights) == 1 and not control:
        return {}
    return {"seed": random.randrange(1, MAX_SEED), "weights": list(weights)}


def handed_on(run: Run) -> dict[str, Any]:
    """The split for the next run of its series: the same people get the same variants. The first
    run keeps the texts."""
    if not run.split:
        return {}
    settings = {name: run.split[name] for name in ("seed", "weights") if name in run.split}
    return {**settings, "texts": run.split.get("texts", run.pk)} if "weights" in settings else {}


def split_at_freezing(run: Run) -> dict[str, Any]:
    """The split when the freezing begins: with the project's holdout at this moment."""
    share = holdout_of(run.project_id, run.category_kind, past_holdout=run.past_holdout)
    settings = dict(run.split)
    if not share:
        return settings
    seed = settings or {"seed": random.randrange(1, MAX_SEED), "weights": [1]}
    return {**seed, "holdout": share, "holdout_seed": holdout_seed(run.project_id)}


def split_of_run(run: Run) -> Split | None:
    """The split of a run; None if everybody gets the same text."""
    if not run.split:
        return None
    return Split(
        run.split["seed"],
        tuple(run.split["weights"]),
        run.control_percent,
        run.split.get("holdout", 0),
        run.split.get("holdout_seed", 0),
    )


def groups(run: Run) -> list[int]:
    """The groups that the run has, or may have; none if it is not split."""
    run_split = split_of_run(run)
    if not run_split:
        return []
    of_a_trial = [REST] if run.tries_variants else []
    return [*run_split.shares(), *of_a_trial]


def holdout_of(project_id: int, category_kind: str, *, past_holdout: bool) -> int:
    """The percentage of people in the holdout, who get no campaigns. Exempt categories ignore it:
    a receipt that a person waits for is never held back."""
    if past_holdout or category_kind in EXEMPT:
        return 0
    percent: int = Project.objects.values_list("holdout_percent", flat=True).get(pk=project_id)
    return percent


def held_out_of(project_id: int, contact: str) -> str:
    """SQL for whether the person with this id is in the project's holdout."""
    percent: int = Project.objects.values_list("holdout_percent", flat=True).get(pk=project_id)
    return f"({_place_sql(holdout_seed(project_id), contact)} < {percent * A_PERCENT})"


def holdout_seed(project_id: int) -> int:
    """The seed of the project's holdout. It never changes: people must not go in and out."""
    return 1_000_003 + project_id


COUNT = """
SELECT variant, count(DISTINCT contact_id), count(*) FROM {table} GROUP BY variant
"""


def count_groups(table: str) -> dict[str, Any]:
    """The number of people and devices in each group, once everybody is frozen."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT.format(table=table))
        rows = cursor.fetchall()
    return {
        "people": {str(group): people for group, people, _ in rows},
        "devices": {str(group): devices for group, _, devices in rows},
    }
