"""Statistics: how certain it is that one variant is better. Pure functions.

docs/variants.md names the methods and their sources.
"""

from __future__ import annotations

from math import lgamma, log, sqrt

# --- The interval of a share ----------------------------------------------------------------------

Z = 1.959964  # 95 %


def interval(count: int, of: int) -> tuple[float, float]:
    """The lower and upper bound of count / of, from 0 to 1. Of nobody, any share may be true."""
    if of <= 0:
        return 0.0, 1.0
    share = min(count, of) / of
    middle = share + Z * Z / (2 * of)
    spread = Z * sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    whole = 1 + Z * Z / of
    low = 0.0 if count <= 0 else (middle - spread) / whole
    high = 1.0 if count >= of else (middle + spread) / whole
    return low, high


# --- Evidence that two groups differ --------------------------------------------------------------

FALSE_ALARMS = 0.05  # the highest rate, over all looks
# How far apart the mixture expects the groups to be: a share of the openers that differs by a
# tenth of itself, such as 4.4 % against 3.6 %. Another value is just as valid, but slower.
EXPECTED = 100.0
POWER_Z = 0.841621  # to find the difference in four of five trials


def strength(one: float, of_one: float, other: float, of_other: float) -> float:
    """The logarithm of the evidence, from counts and sizes of two groups; fractions are allowed."""
    together, everybody = one + other, of_one + of_other
    if not together or one > of_one or other > of_other or min(of_one, of_other) <= 0:
        return 0.0
    part = of_one / everybody
    a, b = EXPECTED * part, EXPECTED * (1 - part)
    mixture = _beta(a + one, b + other) - _beta(a, b)
    pack = _drawn(of_one, one) + _drawn(of_other, other) - _drawn(everybody, together)
    return mixture - pack


def is_sure(strength: float, *, comparisons: int = 1) -> bool:
    """Whether the evidence is strong enough. With several comparisons each needs more, so that all
    together are wrong as rarely as one (Bonferroni)."""
    return strength >= log(max(1, comparisons) / FALSE_ALARMS)


def needed(share: float, other: float, *, comparisons: int = 1) -> int:
    """How many people each of two groups needs to make this difference sure in four of five trials.
    Zero if there is no difference."""
    if not 0 < share < 1 or not 0 < other < 1 or share == other:
        return 0
    low, high = 1, 2
    while not _would_show(high, share, other, comparisons):
        if high > 10**9:
            return high
        low, high = high, high * 2
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        shows = _would_show(middle, share, other, comparisons)
        low, high = (low, middle) if shows else (middle, high)
    return high


def _would_show(people: int, share: float, other: float, comparisons: int) -> bool:
    """Whether the difference would be sure, even if chance hides a part of it."""
    noise = sqrt(people * (share * (1 - share) + other * (1 - other)))
    visible_difference = people * abs(other - share) - POWER_Z * noise
    all_reached = people * (share + other)
    fewer, more = (all_reached - visible_difference) / 2, (all_reached + visible_difference) / 2
    if visible_difference <= 0:
        return False
    return is_sure(strength(fewer, people, more, people), comparisons=comparisons)


def _beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _drawn(cards: float, drawn: float) -> float:
    """The logarithm of cards · (cards - 1) · …, with as many factors as `drawn`."""
    return lgamma(cards + 1) - lgamma(cards - drawn + 1)
