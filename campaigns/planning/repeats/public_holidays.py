"""Public holidays of a country, or of a part of it, as days off.

The library `holidays` knows them.
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from unicodedata import combining, normalize

from babel import Locale
from babel.core import get_global
from django.utils.translation import get_language, to_locale
from django.utils.translation import gettext as _

from campaigns.planning.repeats import days_off
from campaigns.planning.repeats.holidays import YEARS_AHEAD

ENGLISH = "en_US"


@cache
def _countries() -> frozenset[str]:
    from holidays.registry import EntityLoader  # 7 MB, and few processes ever ask

    return frozenset(EntityLoader.get_country_codes(include_aliases=False))


def countries() -> list[tuple[str, str]]:
    """Return code (ISO 3166) and name of each country, in the reader's language, by name."""
    names = Locale.parse(to_locale(get_language() or "en")).territories
    return sorted(((code, names.get(code, code)) for code in _countries()), key=_by_name)


def parts(country: str) -> list[tuple[str, str]]:
    """Return code and name of each part of a country that has its own holidays, by name."""
    from holidays import country_holidays  # 7 MB, and few processes ever ask

    if country not in _countries():
        return []
    calendar = country_holidays(country)
    names = {code: name for name, code in reversed(calendar.subdivisions_aliases.items())}
    return sorted(((code, names.get(code, code)) for code in calendar.subdivisions), key=_by_name)


def _by_name(pair: tuple[str, str]) -> str:
    """Sort by name without accents: Å stands beside A."""
    return "".join(letter for letter in normalize("NFKD", pair[1]) if not combining(letter))


def country_of(zone: str) -> str:
    """Return the country of this time zone; empty if it has none, or none with known holidays."""
    country = get_global("zone_territories").get(zone, "")
    return country if country in _countries() else ""


def years(today: date) -> list[int]:
    """Return the years up to whose end people can ask for holidays."""
    return [today.year + ahead for ahead in range(YEARS_AHEAD + 1)]


def problems(country: str, part: str, until: int, today: date) -> dict[str, str]:
    """Return why holidays cannot be found for these choices, by the wrong choice."""
    if country not in _countries():
        text = _("“%(country)s” is no country with known holidays. Use its code, such as KR.")
        return {"country": text % {"country": country[:40]}}
    if part not in ("", *(code for code, _name in parts(country))):
        text = _("“%(part)s” is no part of %(country)s with holidays of its own.")
        return {"part": text % {"part": part[:40], "country": country}}
    if until not in years(today):
        first, *_others, last = years(today)
        text = _("Choose a year from %(first)s to %(last)s.")
        return {"until": text % {"first": first, "last": last}}
    return {}


def find_holidays(
    country: str, part: str, until: int, today: date, language: str
) -> dict[date, str]:
    """Return the holidays with their names, from today to the end of year `until`. The choices must
    have no problems. Names that are not known in this language are English."""
    from holidays import country_holidays  # 7 MB, and few processes ever ask

    languages = country_holidays(country).supported_languages
    tongue = next(
        (locale for locale in (to_locale(language), ENGLISH) if locale in languages), None
    )
    first = today - timedelta(days=1)  # it may be yesterday elsewhere
    years_asked = range(first.year, until + 1)
    days = country_holidays(country, subdiv=part or None, years=years_asked, language=tongue)
    return {day: _shorten(name) for day, name in sorted(days.items()) if day >= first}


def _shorten(name: str) -> str:
    short = days_off.tidy(days_off.tidy(name)[: days_off.LONGEST_NAME])
    return short if days_off.is_name(short) else ""
