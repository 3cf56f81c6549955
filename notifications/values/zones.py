"""Time zones by their IANA name, e.g. Asia/Seoul: an offset alone does not know summer time."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.utils.translation import gettext


@cache
def known_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def validate_zone(name: str) -> None:
    if name not in known_zones():
        said = gettext(
            "“%(name)s” is not a time zone we know. Use an IANA name such as Asia/Seoul or UTC."
        )
        raise ValidationError(said % {"name": name})
