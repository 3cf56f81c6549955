"""Time zones by IANA name, e.g. Asia/Seoul, because an offset alone does not know summer time.

People may type a city instead: “New York”, “seoul”, “São Paulo”.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

SUGGESTED = 3
LONGEST = 40  # characters of a name that a message quotes
# Files beside those of zones that are no places: this machine's own zone, and no zone at all.
NO_PLACES = {"localtime", "Factory"}

# Python itself caches only eight zones, and reads a file for each other one.
clock_of = cache(ZoneInfo)


@cache
def known_zones() -> frozenset[str]:
    return frozenset(available_timezones()) - NO_PLACES


@cache
def selectable_zones() -> list[str]:
    """Return the zones that people choose from."""
    return sorted(zone for zone in known_zones() if zone == "UTC" or _is_a_place(zone))


def _is_a_place(zone: str) -> bool:
    return "/" in zone and not zone.startswith(("Etc/", "posix/", "right/", "SystemV/"))


def zone_of(typed: str) -> str:
    """Return the zone for a typed name or city. Empty if there is no such zone."""
    if typed in known_zones():
        return typed
    return _by_spelling().get(_plain_letters(typed), "")


@cache
def _by_spelling() -> dict[str, str]:
    """Return zones by whole name and by city. Of two zones with the same city, the shorter name
    wins, as America/Buenos_Aires does over America/Argentina/Buenos_Aires."""
    cities = {
        _plain_letters(zone.rpartition("/")[2]): zone
        for zone in sorted(selectable_zones(), key=_longest_first)
    }
    return cities | {_plain_letters(zone): zone for zone in selectable_zones()}


def _longest_first(zone: str) -> tuple[int, str]:
    return -len(zone), zone


def _plain_letters(text: str) -> str:
    """Return a text without case, accents and separators."""
    plain = unicodedata.normalize("NFKD", text[:100].casefold())
    return re.sub(r"[^a-z0-9/+]", "", plain)


def suggestions(typed: str) -> list[str]:
    """Return zones that may have been meant."""
    bare = _plain_letters(typed)
    if not bare:
        return []
    spelled = _by_spelling()
    near = [name for name in spelled if len(bare) > 2 and bare in name]
    near += get_close_matches(bare, spelled, n=SUGGESTED, cutoff=0.75)
    return list(dict.fromkeys(spelled[name] for name in near))[:SUGGESTED]


def validate_zone(name: str) -> None:
    if name not in known_zones():
        raise _unknown_zone(name)


def unknown_zone_message(name: str) -> str:
    return str(_unknown_zone(name).messages[0])


def _unknown_zone(name: str) -> ValidationError:
    near = suggestions(name)
    name = name if len(name) <= LONGEST else f"{name[:LONGEST]}…"
    text = gettext("“%(name)s” is not a time zone we know. Use a name such as Asia/Seoul or UTC.")
    if near:
        text = gettext("“%(name)s” is not a time zone we know. Did you mean %(near)s?")
        return ValidationError(text, params={"name": name, "near": ", ".join(near)})
    return ValidationError(text, params={"name": name})
