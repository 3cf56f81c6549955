"""People's answers, as programs send them: subscribed or not, and their choices by category."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError as Invalid
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.serializers import ValidationError

from notifications.people.consent.category import MOST
from notifications.people.consent.record import EVERYTHING, ConsentAnswer

AHEAD = timedelta(minutes=5)  # of our clock, that of another server may be
OLDEST = datetime(1970, 1, 1, tzinfo=UTC)
SHAPE = 'Must be true, false or {"wanted": false, "at": "2026-05-31T09:00:00Z"}.'
KNOWN_KEYS = {"wanted", "at", "from"}  # the last as GET shows it
Wish = dict[str, Any]
Slugs = Callable[[], set[str]]  # asked for once somebody names a category


def _subscribed(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Invalid("Must be true or false.")
    return value


def _moment(value: Any) -> datetime | None:
    """null means the same as left out: now."""
    if value is None:
        return None
    at = _parse_moment(value)
    if at is None or at.tzinfo is None:
        raise Invalid("Must be a time with its offset, such as 2026-05-31T09:00:00Z.")
    if at > timezone.now() + AHEAD:
        raise Invalid("Is in the future. Send the time when they said it.")
    if at < OLDEST:
        raise Invalid("Is before 1970. Send the time when they said it.")
    return at.astimezone(UTC)  # PostgreSQL refuses some offsets that Python takes


def _parse_moment(value: Any) -> datetime | None:
    try:
        return parse_datetime(value) if isinstance(value, str) else None
    except ValueError:  # the 31st of February
        return None


def _preferences(value: Any) -> dict[str, Wish]:
    if not isinstance(value, dict) or len(value) > MOST:
        raise Invalid(f"Must be an object of at most {MOST} categories.")
    wishes: dict[str, Wish] = {}
    problems: dict[str, Any] = {}
    for slug, answer in value.items():
        try:
            wishes[slug] = _wish(answer)
        except Invalid as error:
            problems[slug[:80]] = error.messages
    if problems:
        raise ValidationError(problems)
    return wishes


def _wish(value: Any) -> Wish:
    if isinstance(value, bool):
        return {"wanted": value}
    if not isinstance(value, dict) or set(value) - KNOWN_KEYS:
        raise Invalid(SHAPE)
    if not isinstance(value.get("wanted"), bool):
        raise Invalid(SHAPE)
    return {**value, "at": _moment(value.get("at"))}


READERS = {"subscribed": _subscribed, "subscribed_at": _moment, "preferences": _preferences}


def taken_from(given: dict[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    consent = {name: given.pop(name) for name in READERS if name in given}
    if consent.get("subscribed_at") is None and row.get("subscribed_from") == "":
        consent.pop("subscribed", None)  # as GET shows somebody who never said anything: no answer
    return consent


def parse_words(
    external_id: str, said: Mapping[str, Any], categories: Slugs, *, began: datetime
) -> list[ConsentAnswer]:
    """The answers in a body. Raises ValidationError for a category that is not there.

    A yes without a time is from the beginning of its request: a no that came while it waited is
    newer.
    """
    wishes = said.get("preferences", {})
    slugs = categories() if wishes else set()
    unknown = [slug for slug in wishes if slug not in slugs]
    # An unchanged answer about a category deleted since, as GET had returned it, is accepted.
    if strange := [slug for slug in unknown if "from" not in wishes[slug]]:
        known = ", ".join(sorted(slugs)) or "none yet"
        message = f"There is no such category in this project. Known: {known}."
        raise ValidationError({"preferences": {slug[:80]: message for slug in strange}})
    words = [
        ConsentAnswer(external_id, slug, wish["wanted"], wish.get("at"))
        for slug, wish in wishes.items()
        if slug not in unknown
    ]
    words += _of_everything(external_id, said)
    return [replace(word, at=began) if word.wanted and not word.at else word for word in words]


def _of_everything(external_id: str, consent: Mapping[str, Any]) -> list[ConsentAnswer]:
    if "subscribed" not in consent:
        if consent.get("subscribed_at"):
            raise ValidationError({"subscribed_at": "Also give subscribed: true or false."})
        return []
    return [
        ConsentAnswer(external_id, EVERYTHING, consent["subscribed"], consent.get("subscribed_at"))
    ]
