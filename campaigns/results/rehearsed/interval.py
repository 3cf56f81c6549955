"""The interval: what a share of a sample says of the share of all.

Wilson's, at 95 %: near nothing and near everything, where the shares of dead addresses lie, the
usual “± 1.96 standard errors” claims far more than it knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

Z = 1.96  # 95 %


@dataclass(frozen=True)
class Interval:
    """Of a share, from 0 to 1."""

    low: float
    high: float

    def of(self, whole: int) -> tuple[int, int]:
        """From how many to how many of so many."""
        return math.floor(self.low * whole), math.ceil(self.high * whole)


def wilson(count: int, of: int) -> Interval:
    """Of nobody asked, nothing is known."""
    if not of:
        return Interval(0.0, 1.0)
    share, weight = count / of, Z**2 / of
    middle = (share + weight / 2) / (1 + weight)
    half = Z * math.sqrt(share * (1 - share) / of + weight / (4 * of)) / (1 + weight)
    # At the ends the formula gives exactly 0 and 1; in floating point, nearly.
    low = 0.0 if count == 0 else max(0.0, middle - half)
    return Interval(low, 1.0 if count == of else min(1.0, middle + half))


def points(share: float, of: int) -> float:
    """Give or take how many points of a hundred a sample of that size may be wrong."""
    found = wilson(round(share * of), of)
    return 100 * (found.high - found.low) / 2
