"""Holidays, to be put among the days off of step When: of a calendar file, or of a country."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from campaigns.planning.repeats import days_off, holidays, public_holidays
from notifications.values.zones import zone_of

OPENED = "public_country"  # the name of a field that stands there once it is asked for


@dataclass(frozen=True)
class Public:
    """Which public holidays are chosen: of a country or a part of it, to the end of a year."""

    today: date
    country: str
    part: str
    until: int

    @classmethod
    def read(cls, posted: Any, today: date) -> Public:
        """At first, of the country whose clocks the campaign goes by, this year and next."""
        zone = zone_of(posted.get("timezone", ""))
        until = posted.get("public_until", "")
        return cls(
            today,
            posted.get(OPENED) or public_holidays.country_of(zone),
            posted.get("public_part", ""),
            int(until) if until.isdecimal() and len(until) == 4 else today.year + 1,
        )

    def countries(self) -> list[tuple[str, str]]:
        return public_holidays.countries()

    def parts(self) -> list[tuple[str, str]]:
        return public_holidays.parts(self.country)

    def years(self) -> list[tuple[int, str]]:
        first, *others = public_holidays.years(self.today)
        return [(first, str(first)), *((last, f"{first}–{last}") for last in others)]

    def days(self) -> dict[date, str]:
        """Raises ValidationError."""
        if not self.country:
            raise ValidationError(_("Choose a country."))
        choice = self.country, self.part, self.until, self.today
        for problem in public_holidays.problems(*choice).values():
            raise ValidationError(problem)
        return public_holidays.read(*choice, get_language() or "en")


def of_file(file: UploadedFile[Any] | None, today: date) -> dict[date, str]:
    """The whole days of a calendar file, and their names. Raises ValidationError."""
    if file is None:
        raise ValidationError(_("Choose a calendar file (.ics)."))
    try:
        # Of one that is too large, enough to be refused.
        text = file.read(holidays.LONGEST + 1).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        said = _("This is no calendar file (.ics): it is no UTF-8 text. Save it as UTF-8.")
        raise ValidationError(said) from error
    try:
        return holidays.read(text, today)
    except ValueError as error:
        raise ValidationError(str(error)) from error


def beside(typed: str, taken: dict[date, str]) -> str:
    """What was typed, with these days among it. Raises ValidationError."""
    try:
        days = days_off.beside(days_off.named(typed), taken)
        days_off.count(days)
    except ValueError as error:
        raise ValidationError(str(error)) from error
    return days_off.in_lines(days)
