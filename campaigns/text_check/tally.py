"""The tally: the counts of all parts, added up. The row keeps it, so it is JSON, and as small with
a million people as with a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from campaigns.text_check.counting import PERSON_BITS, SUMS, Counted
from campaigns.text_check.text_needs import MEASURES

EXAMPLES = 3  # people named for each thing found
# The longest values make the longest texts, unless a filter fails on them: then other values do.
TRIED = (*MEASURES, "least")
LONGEST = 5  # tried per sheet: a filter may make the longest text of the third longest value
PERSON = 2**PERSON_BITS - 1

Tally = dict[str, Any]


@dataclass(frozen=True)
class Group:
    """The counts of devices of one language on one platform."""

    locale: str
    platform: str
    sums: dict[str, int]


@dataclass(frozen=True)
class Oddity:
    """Devices of people with a value that is odd in this way."""

    variable: int
    letter: str
    locale: str
    platform: str
    devices: int
    people: list[int]


def add_part(tally: Tally, part: Counted) -> Tally:
    """Return a new tally with this part added. The old one must not change before it is saved."""
    return {
        "seen": int(tally.get("seen", 0)) + sum(row[2] for row in part.sums),
        "sums": _add_sums(tally.get("sums", {}), part),
        "longest": _add_longest(tally.get("longest", {}), part),
        "odd": _add_odd(tally.get("odd", {}), part),
    }


def _add_sums(old: dict[str, list[int]], part: Counted) -> dict[str, list[int]]:
    sums = dict(old)
    for locale, platform, *counts in part.sums:
        key = f"{locale}|{platform}"
        before = sums.get(key, [0] * len(SUMS))
        sums[key] = [a + b for a, b in zip(before, counts, strict=True)]
    return sums


def _add_longest(old: dict[str, Any], part: Counted) -> dict[str, Any]:
    longest_values = dict(old)
    for number, *packed in part.longest:
        before = longest_values.get(str(number), {})
        longest_values[str(number)] = {
            name: _keep_largest([*before.get(name, []), _unpack(packed_value)])
            for name, packed_value in zip(TRIED, packed, strict=True)
        }
    return longest_values


def _unpack(packed: int) -> list[int]:
    return [packed >> PERSON_BITS, packed & PERSON]


def _keep_largest(sizes: list[list[int]]) -> list[list[int]]:
    by_person = {person: [size, person] for size, person in sorted(sizes)}
    return sorted(by_person.values(), reverse=True)[:LONGEST]


def _add_odd(old: dict[str, Any], part: Counted) -> dict[str, Any]:
    odd = dict(old)
    for variable, letter, locale, platform, devices, *some in part.odd:
        key = f"{variable}|{letter}|{locale}|{platform}"
        count, people = odd.get(key, [0, []])
        odd[key] = [count + devices, list(dict.fromkeys([*people, *some]))[:EXAMPLES]]
    return odd


# --- Read again -----------------------------------------------------------------------------------


def groups(tally: Tally) -> Iterator[Group]:
    for key, counts in tally.get("sums", {}).items():
        locale, platform = key.split("|")
        yield Group(locale, platform, dict(zip(SUMS, counts, strict=True)))


def oddities(tally: Tally) -> Iterator[Oddity]:
    for key, (devices, people) in tally.get("odd", {}).items():
        variable, letter, locale, platform = key.split("|")
        yield Oddity(int(variable), letter, locale, platform, devices, people)


def longest(tally: Tally) -> Iterator[tuple[int, int]]:
    """Yield each sheet with a person whose values are among its longest, by any measure."""
    for number, held in tally.get("longest", {}).items():
        people = dict.fromkeys(person for name in TRIED for _, person in held[name])
        yield from ((int(number), person) for person in people)
