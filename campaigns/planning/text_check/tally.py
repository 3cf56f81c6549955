"""The tally: the counts of all parts, added up. The row keeps it, so it is JSON, and as small with
a million people as with a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from campaigns.planning.text_check.counting import PERSON_BITS, SUMS, Counted
from campaigns.planning.text_check.sheets import MEASURES

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
        "sums": _sums(tally.get("sums", {}), part),
        "longest": _longest(tally.get("longest", {}), part),
        "odd": _odd(tally.get("odd", {}), part),
    }


def _sums(known: dict[str, list[int]], part: Counted) -> dict[str, list[int]]:
    found = dict(known)
    for locale, platform, *counts in part.sums:
        key = f"{locale}|{platform}"
        before = found.get(key, [0] * len(SUMS))
        found[key] = [a + b for a, b in zip(before, counts, strict=True)]
    return found


def _longest(known: dict[str, Any], part: Counted) -> dict[str, Any]:
    found = dict(known)
    for number, *packed in part.longest:
        held = found.get(str(number), {})
        found[str(number)] = {
            name: _largest([*held.get(name, []), _unpacked(one)])
            for name, one in zip(TRIED, packed, strict=True)
        }
    return found


def _unpacked(packed: int) -> list[int]:
    return [packed >> PERSON_BITS, packed & PERSON]


def _largest(found: list[list[int]]) -> list[list[int]]:
    of_each = {person: [size, person] for size, person in sorted(found)}
    return sorted(of_each.values(), reverse=True)[:LONGEST]


def _odd(known: dict[str, Any], part: Counted) -> dict[str, Any]:
    found = dict(known)
    for variable, letter, locale, platform, devices, *some in part.odd:
        key = f"{variable}|{letter}|{locale}|{platform}"
        count, people = found.get(key, [0, []])
        found[key] = [count + devices, list(dict.fromkeys([*people, *some]))[:EXAMPLES]]
    return found


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
