"""The results of a run by platform, language, time zone and app version.

`engine/breakdowns.py` counts them once the run has finished. This module reads the counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.runs.run import Run
from campaigns.runs.sums import Breakdown, without_skipped
from notifications.values.shares import share


@dataclass(frozen=True)
class Kind:
    """The results of all recipients with one value, such as “ios”; an empty value is unknown."""

    value: str
    accepted: int
    rejected: int
    skipped: int
    unknown: int

    @property
    def recipients(self) -> int:
        return self.accepted + self.rejected + self.skipped + self.unknown

    @property
    def accepted_share(self) -> str:
        return share(self.accepted, without_skipped(self.recipients, self.skipped))


@dataclass(frozen=True)
class Cut:
    """The results by one property, most recipients first; values beyond a limit are `others`."""

    by: str
    kinds: list[Kind]
    others: Kind | None

    @property
    def tells(self) -> bool:
        """Whether the value of any recipient is known."""
        return any(kind.value for kind in self.kinds)

    def shortened(self, most: int) -> Cut:
        """The same for a page: at most this many values, and the smaller ones among the others."""
        smaller = self.kinds[most:]
        if self.others:
            smaller = [*smaller, self.others]
        return Cut(self.by, self.kinds[:most], _sum_kinds(smaller) if smaller else None)


def _sum_kinds(kinds: list[Kind]) -> Kind:
    columns = zip(*((k.accepted, k.rejected, k.skipped, k.unknown) for k in kinds), strict=True)
    return Kind("", *map(sum, columns))


def kept_of(run: Run) -> Breakdown | None:
    """The stored counts of a run; None until all its recipients are counted."""
    stored = Breakdown.objects.filter(run=run).select_related("run").first()
    return stored if stored and stored.is_of(run) else None


def will_be_counted(run: Run) -> bool:
    """Whether the counts will be there in a moment."""
    countable = run.evaluated_at is not None and run.forgotten_at is None
    return not run.unfinished and countable and kept_of(run) is None


def cut(kept: Breakdown, by: str) -> Cut:
    kinds = [Kind(value, *sums) for value, sums in kept.counts.get(by, {}).items()]
    kinds.sort(key=lambda kind: (-kind.recipients, kind.value))
    others = kept.others.get(by)
    return Cut(by, kinds, Kind("", *others) if others else None)
