"""Evidence: how much speaks for a difference between two groups, however often one looks.

People were put into the groups by chance. If the text made no difference, those who open it would
come from both in a random order, like cards drawn from a shuffled pack of n cards of one group and
m of the other. The evidence is how many times more likely that order is when one group opens more:
a mixture of all such rates, by a Beta distribution, against the shuffled pack. It is a martingale
under the pack, so by Ville's inequality it reaches 20 in at most one of 20 such comparisons, ever:
looking each minute, and stopping when one likes what one sees, fools nobody. See docs/variants.md.
"""

from __future__ import annotations

from math import lgamma, log, sqrt

FALSE_ALARMS = 0.05  # at most, over all looks
# How far apart the mixture expects the groups to be: a share of the openers that differs by a
# tenth of itself, such as 4.4 % against 3.6 %. It is as right with another, and slower.
EXPECTED = 100.0
POWER_Z = 0.841621  # to be surprised in four of five trials


def strength(one: float, of_one: float, other: float, of_other: float) -> float:
    """The logarithm of the evidence: so many of so many in each group. Counts may be fractions."""
    together, everybody = one + other, of_one + of_other
    if not together or one > of_one or other > of_other or min(of_one, of_other) <= 0:
        return 0.0
    part = of_one / everybody
    a, b = EXPECTED * part, EXPECTED * (1 - part)
    mixture = _beta(a + one, b + other) - _beta(a, b)
    pack = _drawn(of_one, one) + _drawn(of_other, other) - _drawn(everybody, together)
    return mixture - pack


def is_sure(strength: float, *, comparisons: int = 1) -> bool:
    """Of several comparisons each has to show more, so that all of them together are as rarely
    wrong as one (Bonferroni)."""
    return strength >= log(max(1, comparisons) / FALSE_ALARMS)


def needed(share: float, other: float, *, comparisons: int = 1) -> int:
    """How many people each of two groups needs, so that such a difference is sure in four of five
    trials. Zero where there is none to see."""
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
    """Also where chance hides a part of the difference."""
    noise = sqrt(people * (share * (1 - share) + other * (1 - other)))
    seen = people * abs(other - share) - POWER_Z * noise
    both = people * (share + other)
    fewer, more = (both - seen) / 2, (both + seen) / 2
    if seen <= 0:
        return False
    return is_sure(strength(fewer, people, more, people), comparisons=comparisons)


def _beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _drawn(cards: float, taken: float) -> float:
    """The logarithm of cards · (cards - 1) · … for so many taken."""
    return lgamma(cards + 1) - lgamma(cards - taken + 1)
