"""People and devices as programs send them, read by hand.

A serializer takes 200 µs for a person with two devices, this takes 30: with 1,000 people a call it
is the difference between a web thread that is free and one that is not. What fits where is decided
by the validators of the models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError as Invalid
from django.utils import timezone
from rest_framework.serializers import ValidationError

from notifications.api import words
from notifications.api.base.fields import holds_nul
from notifications.api.shapes import MAX_DEVICES
from notifications.people.attributes import refuse_other_types
from notifications.people.consent.record import ConsentAnswer
from notifications.people.contact import LONGEST_ID, validate_attributes, validate_external_id
from notifications.people.device import Device, validate_address
from notifications.people.events.names import LONGEST_NAME, validate_event_name
from notifications.people.events.writing import Event, validate_properties
from notifications.people.registry import Address, Person
from notifications.values.flaws import Flawed
from notifications.values.languages import validate_locale
from notifications.values.zones import validate_zone

Reader = Callable[[Any], Any]
MAX_PROBLEMS = 20  # of one row: the rest would only repeat them


def read_person(
    row: Any, categories: words.Slugs, types: Mapping[str, str], *, began: datetime
) -> Person:
    """Raises ValidationError with what is wrong, by field. `categories`: those of the project;
    `types`: those it has declared for attributes; `began`: when the request came."""
    fields = _read_fields(row, PERSON, required=("external_id",))
    refuse_types(types, fields.get("attributes"))
    consent = words.taken_from(fields, row)
    answers = words.parse_words(fields["external_id"], consent, categories, began=began)
    return Person(**fields, answers=answers)


def refuse_types(types: Mapping[str, str], attributes: Any) -> None:
    if isinstance(attributes, dict):
        try:
            refuse_other_types(types, attributes)
        except Invalid as error:
            raise ValidationError({"attributes": error.messages}) from error


def read_device(row: Any) -> Address:
    device = _address(_read_fields(row, DEVICE, required=("platform",)))
    return replace(device, retired=row.get("retired_at") is not None)


def read_registration(body: Any) -> tuple[str, Address]:
    """A device together with the external id of its owner."""
    given = _read_fields(body, {"contact": external_id, **DEVICE}, required=("contact", "platform"))
    return given.pop("contact"), _address(given)


def read_answers(
    body: Any, external_id: str, categories: words.Slugs, *, began: datetime
) -> list[ConsentAnswer]:
    """What a person's own app says they want to hear; nothing else of them can be told there."""
    if isinstance(body, dict):  # as GET showed it
        body = {name: value for name, value in body.items() if name != "categories"}
    consent = words.taken_from(_read_fields(body, words.READERS, required=()), body)
    return words.parse_words(external_id, consent, categories, began=began)


def read_event(row: Any, *, now: datetime) -> Event:
    """Without a time it is now. Whether we keep events of that time, `writing.py` says."""
    given = _read_fields(row, EVENT, required=("contact", "name"))
    return Event(**{"at": now, **given})


def _read_fields(
    row: Any, readers: Mapping[str, Reader], *, required: tuple[str, ...]
) -> dict[str, Any]:
    if isinstance(row, Flawed):
        raise ValidationError(dict(row))
    if not isinstance(row, dict):
        raise ValidationError({"": "Must be an object."})
    fields: dict[str, Any] = {}
    problems: dict[str, Any] = {
        name: "Is missing; give it." for name in required if name not in row
    }
    for name, value in row.items():
        if len(problems) >= MAX_PROBLEMS:
            break
        if name in SHOWN_ONLY:  # so that what was read can be changed and sent back
            continue
        if name not in readers:
            problems[name[:80]] = f"Unknown field. Known: {', '.join(readers)}."
            continue
        try:
            fields[name] = readers[name](value)
        except Invalid as error:
            problems[name] = error.messages
        except ValidationError as error:
            problems[name] = error.detail
    if problems:
        raise ValidationError(problems)
    return fields


def _text(value: Any, most: int) -> str:
    if not isinstance(value, str):
        raise Invalid("Must be a text.")
    if len(value) > most:
        raise Invalid(f"At most {most:,} characters; there are {len(value):,}.")
    if "\x00" in value:
        raise Invalid("Holds a NUL character, which PostgreSQL cannot store.")
    return value


def external_id(value: Any) -> str:
    if type(value) in (int, float):
        raise Invalid(f'Must be a text: give "{str(value)[:LONGEST_ID]}", in quotes.')
    text = _text(value, LONGEST_ID)
    validate_external_id(text)
    return text


def _attributes(value: Any) -> dict[str, Any]:
    validate_attributes(value)
    if holds_nul(value):
        raise Invalid("Holds a NUL character, which PostgreSQL cannot store.")
    return dict(value)


def _locale(value: Any) -> str:
    locale = _text(value, 35)
    if locale:
        validate_locale(locale)
    return locale


def _timezone(value: Any) -> str:
    name = _text(value, 64)
    if name:
        validate_zone(name)
    return name


def _tester(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Invalid("Must be true or false.")
    return value


def _devices(value: Any) -> list[Address]:
    if not isinstance(value, list) or len(value) > MAX_DEVICES:
        raise Invalid(f"Must be a list of at most {MAX_DEVICES} devices.")
    devices: list[Address] = []
    problems: dict[Any, Any] = {}
    for index, row in enumerate(value):
        try:
            devices.append(read_device(row))
        except ValidationError as error:
            problems[index] = error.detail
        if len(problems) == MAX_PROBLEMS:
            break
    if problems:
        raise ValidationError(problems)
    return devices


def _one_address(value: Any) -> str:
    if not isinstance(value, str):
        raise Invalid("Must be a text.")
    validate_address(value)
    return value


def _platform(value: Any) -> str:
    if not isinstance(value, str) or value not in PLATFORMS:
        raise Invalid(f"Use one of {', '.join(PLATFORMS)}.")
    return value


def _version(value: Any) -> str:
    return _text(value, 50)


def _event_name(value: Any) -> str:
    name = _text(value, LONGEST_NAME)
    validate_event_name(name)
    return name


def _event_id(value: Any) -> str:
    text = _text(value, LONGEST_ID)
    if not text:
        raise Invalid("Must not be empty; leave it out if the event has none.")
    return text


def _moment(value: Any) -> datetime:
    text = "Must be a time in RFC 3339 with its offset, e.g. 2026-05-31T09:30:00Z."
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise Invalid(text)
        return moment.astimezone(UTC)  # PostgreSQL refuses some offsets that Python takes
    except (TypeError, ValueError, OverflowError) as error:
        raise Invalid(text) from error


def _seen_at(value: Any) -> datetime | None:
    """As GET shows it, or when the phone was seen since."""
    if value is None:
        return None
    moment, now = _moment(value), timezone.now()
    if moment > now + words.AHEAD:
        raise Invalid("Is in the future. Give when the phone was seen.")
    if moment < words.OLDEST:
        raise Invalid("Is before 1970. Give when the phone was seen.")
    return min(moment, now)


def _properties(value: Any) -> dict[str, Any]:
    validate_properties(value)
    return dict(value)


def _address(fields: dict[str, Any]) -> Address:
    if ("token" in fields) == ("fid" in fields):
        raise ValidationError({"": "Give either token or fid."})
    kind = "token" if "token" in fields else "fid"
    version, seen_at = fields.get("app_version", ""), fields.get("last_seen_at")
    return Address(kind, fields[kind], fields["platform"], version, seen_at=seen_at)


PLATFORMS = Device.Platform.values
PERSON: dict[str, Reader] = {
    "external_id": external_id,
    "attributes": _attributes,
    "locale": _locale,
    "timezone": _timezone,
    "tester": _tester,
    "devices": _devices,
    **words.READERS,
}
DEVICE: dict[str, Reader] = {
    "token": _one_address,
    "fid": _one_address,
    "platform": _platform,
    "app_version": _version,
    "last_seen_at": _seen_at,
}
EVENT: dict[str, Reader] = {
    "id": _event_id,
    "contact": external_id,
    "name": _event_name,
    "at": _moment,
    "properties": _properties,
}
SHOWN_ONLY = {
    "created_at", "updated_at", "registered_at", "retired_at", "retired_reason",
    "registered_from", "subscribed_from",
}  # fmt: skip
