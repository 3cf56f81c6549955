"""JSON fields: errors name line and column, and nothing passes that PostgreSQL refuses later."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isinf
from typing import Any, NoReturn

import orjson
from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput
from django.utils.translation import gettext as _

from notifications.admin.ui.widgets import CodeArea
from notifications.values import exact
from notifications.values.nesting import MAX_DEPTH, too_deep

DIGITS_SAID = 20  # digits of a number that is refused


def _whole(written: str) -> float:
    try:
        return int(written)
    except ValueError as error:  # Python reads 4,300 digits, PostgreSQL some more
        raise _too_large(written) from error


def _fraction(written: str) -> float:
    number = float(written)
    if isinf(number):
        raise _too_large(written)
    return number


def _too_large(number: str) -> ValidationError:
    shortened = number if len(number) <= DIGITS_SAID else f"{number[:DIGITS_SAID]}…"
    return ValidationError(_("%(number)s is too large a number.") % {"number": shortened})


class JSONText(forms.JSONField):
    widget = CodeArea
    whole, fraction = staticmethod(_whole), staticmethod(_fraction)

    def __init__(self, *, empty: Callable[[], Any] = dict, **kwargs: Any) -> None:
        self.empty = empty  # what leaving it blank means
        super().__init__(**kwargs)

    def clean(self, value: Any) -> Any:
        cleaned = super().clean(value)
        return self.empty() if cleaned in (None, "") else cleaned

    def to_python(self, value: Any) -> Any:
        if self.disabled or not isinstance(value, str) or value.strip() in self.empty_values:
            return super().to_python(value)
        try:
            parsed = json.loads(
                value, parse_constant=_refuse, parse_int=self.whole, parse_float=self.fraction
            )
        except json.JSONDecodeError as error:
            text = _("line %(line)s, column %(column)s: %(problem)s.")
            text %= {
                "line": error.lineno,
                "column": error.colno,
                "problem": _in_plain_words(error.msg),
            }
            raise ValidationError(text) from error
        except RecursionError as error:
            raise _deep() from error
        if too_deep(parsed):
            raise _deep()
        _check_texts(parsed)
        return parsed

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, InvalidJSONInput):
            return value
        return json.dumps(value, ensure_ascii=False, indent=2)

    def bound_data(self, data: Any, initial: Any) -> Any:
        # Return exactly what was typed: an error on line 7 needs the same line 7.
        return InvalidJSONInput(data) if isinstance(data, str) and not self.disabled else initial


class ExactJSONText(JSONText):
    """A JSON field for people's attributes: a number stays as it was typed, however long."""

    whole, fraction = staticmethod(exact.whole), staticmethod(exact.fraction)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(encoder=exact.Encoder, decoder=exact.Decoder, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, InvalidJSONInput):
            return value
        return exact.dumps(value, orjson.OPT_INDENT_2).decode()


def _refuse(name: str) -> NoReturn:
    text = _("%(name)s is not a number JSON knows; use null or leave it out.")
    raise ValidationError(text % {"name": name})


def _deep() -> ValidationError:
    return ValidationError(_("Nested deeper than %(most)s levels.") % {"most": MAX_DEPTH})


def _check_texts(value: Any) -> None:
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise ValidationError(_("A text holds a character that cannot be stored; remove it."))
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_texts(key)
            _check_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_texts(inner)


def _in_plain_words(message: str) -> str:
    return {
        "Expecting value": _("a value is missing here: a text in quotes, a number, true or null"),
        "Expecting property name enclosed in double quotes": _(
            "a name in double quotes belongs here"
        ),
        "Expecting ',' delimiter": _("a comma is missing before this"),
        "Expecting ':' delimiter": _("a colon is missing between name and value"),
        "Extra data": _("the JSON ended before this; remove the rest"),
        "Unterminated string starting at": _("this text has no closing quote"),
        "Illegal trailing comma before end of object": _("remove this comma, nothing follows it"),
        "Illegal trailing comma before end of array": _("remove this comma, nothing follows it"),
    }.get(message, message)
