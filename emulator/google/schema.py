"""Google's JSON transcoder: reads JSON as the schema describes it, or refuses in Google's words.

The schema is Google's own `fcm.v1.discovery.json` (revision 20261023, as google-api-python-client
2.202.0 ships it), compiled once into plain functions: one per type, from a JSON value to a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import orjson

Read = Callable[[Any], Any]

DISCOVERY = Path(__file__).with_name("fcm.v1.discovery.json")
PACKAGE = "type.googleapis.com/google.firebase.fcm.v1"
PROTOBUF = "type.googleapis.com/google.protobuf"
INTEGER = re.compile(r"-?\d{1,10}", re.ASCII)
INT32 = range(-(2**31), 2**31)
DURATION = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?s")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)")


class Violation(Exception):
    """A value the schema refuses. It gathers its path on the way up: a good value pays nothing."""

    def __init__(self, before: str, after: str) -> None:
        super().__init__(before, after)
        self.before, self.after, self.path = before, after, ""

    def inside(self, name: str) -> Violation:
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{name}{joint}{self.path}"
        return self

    @property
    def description(self) -> str:
        place = f" at '{self.path}'" if self.path else ""
        return f"{self.before}{place}{self.after}"


def invalid(kind: str, value: Any) -> Violation:
    shown = (
        "Starting an object on a scalar field"
        if isinstance(value, dict)
        else orjson.dumps(value).decode()
    )
    return Violation("Invalid value", f" ({kind}), {shown}")


def unknown(name: str, why: str) -> Violation:
    return Violation(f'Invalid JSON payload received. Unknown name "{name}"', f": {why}")


# --- scalars


def read_string(value: Any) -> Any:
    if type(value) is str:
        return value
    raise invalid("TYPE_STRING", value)


def read_boolean(value: Any) -> Any:
    if type(value) is bool:
        return value
    raise invalid("TYPE_BOOL", value)


def read_int32(value: Any) -> Any:
    """5, 5.0 and "5" are the same integer; 5.5 is none."""
    number = value
    if type(value) is str and INTEGER.fullmatch(value):
        number = int(value)
    if type(value) is float and value.is_integer():
        number = int(value)
    if type(number) is int and number in INT32:
        return number
    raise invalid("TYPE_INT32", value)


def read_number(value: Any) -> Any:
    if type(value) in (int, float):
        return float(value)
    raise invalid("TYPE_FLOAT", value)


def read_duration(value: Any) -> Any:
    """Seconds, from text such as "3.5s"."""
    if type(value) is not str:
        raise invalid(f"{PROTOBUF}.Duration", value)
    if not DURATION.fullmatch(value):
        raise Violation(
            "Invalid value",
            f" ({PROTOBUF}.Duration), Illegal duration format; duration must end with 's'",
        )
    return float(value[:-1])


def read_instant(value: Any) -> Any:
    if type(value) is str and INSTANT.fullmatch(value):
        return value
    raise invalid(f"{PROTOBUF}.Timestamp", value)


def read_enum(names: list[str]) -> Read:
    """By name in any case, because the SDKs send lower case and Google takes it, or by number."""
    known = {name.upper(): name for name in names} | dict(enumerate(names))

    def read(value: Any) -> Any:
        key = value.upper() if isinstance(value, str) else value
        if type(key) in (str, int) and key in known:
            return known[key]
        raise invalid("TYPE_ENUM", value)

    return read


# --- collections


def read_struct(value: Any) -> Any:
    if type(value) is dict:
        return value
    raise invalid(f"{PROTOBUF}.Struct", value)


def read_list(read_item: Read) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not list:
            raise invalid("repeated", value)
        items: list[Any] = []
        for item in value:
            try:
                items.append(read_item(item))
            except Violation as violation:
                raise violation.inside(f"[{len(items)}]") from None
        return items

    return read


def read_map(read_value: Read) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise invalid("Map", value)
        for position, item in enumerate(value.values()):
            try:
                read_value(item)
            except Violation as violation:
                raise violation.inside("value").inside(f"[{position}]") from None
        return value

    return read


def read_object(name: str, fields: dict[str, Read]) -> Read:
    """Fields may come in camelCase or snake_case; they leave in camelCase. `null` means unset."""
    spelled = {name: (name, read) for name, read in fields.items()}
    spelled |= {_snake(name): found for name, found in spelled.items()}

    def read(value: Any) -> Any:
        if type(value) is not dict:
            raise Violation("Invalid value", f" ({PACKAGE}.{name}), {orjson.dumps(value).decode()}")
        known: dict[str, Any] = {}
        for spelling, item in value.items():
            if spelling not in spelled:
                raise unknown(spelling, "Cannot find field.")
            if item is None:
                continue
            field, read_field = spelled[spelling]
            try:
                known[field] = read_field(item)
            except Violation as violation:
                if type(item) is list and not violation.path:
                    raise unknown(
                        field, "Proto field is not repeating, cannot start list."
                    ) from None
                raise violation.inside(field) from None
        return known

    return read


# --- the compiler


def compile_schema(name: str) -> Read:
    """The reader of one named schema of the discovery document."""
    schemas = orjson.loads(DISCOVERY.read_bytes())["schemas"]

    @cache
    def read_named(name: str) -> Read:
        properties = schemas[name].get("properties", {})
        return read_object(name, {field: reader(kind) for field, kind in properties.items()})

    def reader(kind: dict[str, Any]) -> Read:
        if "$ref" in kind:
            return read_named(kind["$ref"])
        if "enum" in kind:
            return read_enum(kind["enum"])
        if kind["type"] == "array":
            return read_list(reader(kind["items"]))
        if "additionalProperties" in kind:
            of = kind["additionalProperties"]
            return read_struct if of["type"] == "any" else read_map(reader(of))
        return SCALARS[kind.get("format", kind["type"])]

    return read_named(name)


SCALARS: dict[str, Read] = {
    "string": read_string,
    "boolean": read_boolean,
    "int32": read_int32,
    "float": read_number,
    "google-duration": read_duration,
    "google-datetime": read_instant,
}


def _snake(camel: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", camel).lower()
