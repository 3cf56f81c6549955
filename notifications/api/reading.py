"""People and devices as programs send them, read by hand.

A serializer takes 200 µs for a person with two devices, this takes 30: with 1,000 people a call it
is the difference between a web thread that is free and one that is not. What fits where is decided
by the validators of the models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from unicodedata import category

from django.core.exceptions import ValidationError as Invalid
from rest_framework.serializers import ValidationError

from notifications.api.ground.fields import holds_nul
from notifications.api.shapes import MAX_DEVICES
from notifications.people.contact import Contact, validate_attributes
from notifications.people.device import Device, validate_address
from notifications.people.registry import Address, Person
from notifications.values.languages import validate_locale
from notifications.values.zones import validate_zone

Reader = Callable[[Any], Any]
MAX_PROBLEMS = 20  # of one row: the rest would only repeat them


def read_person(row: Any) -> Person:
    """Raises ValidationError with what is wrong, by field."""
    given = _read(row, PERSON, required=("external_id",))
    return Person(**given)


def read_device(row: Any) -> Address:
    device = _address(_read(row, DEVICE, required=("platform",)))
    return replace(device, retired=row.get("retired_at") is not None)


def read_registration(body: Any) -> tuple[str, Address]:
    """A device together with the external id of its owner."""
    given = _read(body, {"contact": _external_id, **DEVICE}, required=("contact", "platform"))
    return given.pop("contact"), _address(given)


def _read(row: Any, readers: Mapping[str, Reader], *, required: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise ValidationError({"": "Must be an object."})
    given: dict[str, Any] = {}
    problems: dict[str, Any] = {
        name: "This field is required." for name in required if name not in row
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
            given[name] = readers[name](value)
        except Invalid as error:
            problems[name] = error.messages
        except ValidationError as error:
            problems[name] = error.detail
    if problems:
        raise ValidationError(problems)
    return given


def _text(value: Any, most: int) -> str:
    if not isinstance(value, str):
        raise Invalid("Must be a text.")
    if len(value) > most:
        raise Invalid(f"At most {most:,} characters; there are {len(value):,}.")
    if "\x00" in value:
        raise Invalid("Holds a NUL character, which PostgreSQL cannot store.")
    return value


def _external_id(value: Any) -> str:
    # Most apps count their people.
    text = _text(str(value) if type(value) is int else value, LONGEST_ID)
    if not text:
        raise Invalid("Must not be empty.")
    if problem := _unreachable(text):
        raise Invalid(problem)
    return text


def _unreachable(external_id: str) -> str:
    """Why no address below contacts/ could name this person; empty when one can."""
    if any(category(letter) == "Cc" for letter in external_id):
        return "Holds a control character, such as a line break; remove it."
    if external_id == "bulk":
        return "contacts/bulk is an address of its own; use another id."
    if {".", ".."} & set(external_id.split("/")):
        return "Neither . nor .. can be a part of an address; use another id."
    return ""


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


def _address(given: dict[str, Any]) -> Address:
    if ("token" in given) == ("fid" in given):
        raise ValidationError({"": "Give either token or fid."})
    kind = "token" if "token" in given else "fid"
    return Address(kind, given[kind], given["platform"], given.get("app_version", ""))


LONGEST_ID = Contact._meta.get_field("external_id").max_length or 0
PLATFORMS = Device.Platform.values
PERSON: dict[str, Reader] = {
    "external_id": _external_id,
    "attributes": _attributes,
    "locale": _locale,
    "timezone": _timezone,
    "devices": _devices,
}
DEVICE: dict[str, Reader] = {
    "token": _one_address,
    "fid": _one_address,
    "platform": _platform,
    "app_version": _version,
}
SHOWN_ONLY = {
    "created_at", "updated_at", "registered_at", "last_seen_at", "retired_at", "retired_reason",
}  # fmt: skip
