"""Attribute: the declared type of a custom attribute, and whether people are searched by it.

An attribute needs no row: apps send what they like. Once its type is declared, values of any other
type are refused: the API, imports and pages all call `refuse_other_types`.

A search uses the index that rules use already (GIN over all attributes). It finds whole values and
costs nothing to switch on. The schema never has to change while people are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.dateformat import format as written
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from notifications.people.project import OfProject
from notifications.values.moments import DAY, DAY_AND_CLOCK, short
from notifications.values.plain_values import plainly

MAX_DECLARED = 200
MAX_SEARCHABLE = 10  # each adds one index lookup to every search

NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z"
IS_NAME = re.compile(NAME).match
validate_attribute_name = RegexValidator(
    NAME, _("A name starts with a letter and holds letters, digits and _ only, 64 at most.")
)


def check_attribute_name(name: str) -> None:
    """`validate_attribute_name` in a tenth of the time: a call brings thousands of names."""
    if not IS_NAME(name):
        validate_attribute_name(name)


class Attribute(OfProject):
    """A declared attribute of a project's people: its name, its type, whether it is searchable."""

    class Type(models.TextChoices):
        TEXT = "text", pgettext_lazy("type of a value", "Text")
        NUMBER = "number", pgettext_lazy("type of a value", "Number")
        BOOLEAN = "boolean", pgettext_lazy("type of a value", "Yes or no")
        TIME = "time", pgettext_lazy("type of a value", "Date or time")
        LIST = "list", pgettext_lazy("type of a value", "List")

    name = models.CharField(max_length=64, validators=[validate_attribute_name])
    type = models.CharField(
        max_length=7,
        choices=Type,
        blank=True,
        help_text=_("Values of any other type are refused: by the API, in imports and on pages."),
    )
    searchable = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("People are found by its whole value, on the page of people."),
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_attribute_per_name"),
            models.CheckConstraint(
                condition=Q(type__in=["", "text", "number", "boolean", "time", "list"]),
                name="an_attribute_type_we_know",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        others = Attribute.objects.filter(project=self.project_id).exclude(pk=self.pk)
        if others.count() >= MAX_DECLARED:
            text = gettext("At most %(most)s attributes are declared; remove one first.")
            raise ValidationError(text % {"most": MAX_DECLARED})
        if self.searchable and others.filter(searchable=True).count() >= MAX_SEARCHABLE:
            text = gettext("At most %(most)s attributes are searchable; switch another one off.")
            raise ValidationError({"searchable": text % {"most": MAX_SEARCHABLE}})


# --- Types ----------------------------------------------------------------------------------------

MUST_BE = {
    "text": _("must be a text"),
    "number": _("must be a number"),
    "boolean": _("must be true or false"),
    "time": _("must be a date or a time such as 2026-05-31 or 2026-05-31T09:00:00Z"),
    "list": _("must be a list"),
}
IS = {
    "text": _("it is a text"),
    "number": _("it is a number"),
    "boolean": _("it is true or false"),
    "list": _("it is a list"),
    "object": _("it is an object"),
}
# The times that rules can compare: PostgreSQL reads them as Python does.
ISO_TIME = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    "([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?( ?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?))?)?$"
)
IS_ISO_TIME = re.compile(ISO_TIME)
IS_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def types_of(project_id: int) -> dict[str, str]:
    """The declared types by attribute name. Read once per call, however many people it brings."""
    declared = Attribute.objects.filter(project=project_id).exclude(type="").order_by()
    return dict(declared.values_list("name", "type"))


def refuse_other_types(types: Mapping[str, str], attributes: Mapping[str, Any]) -> None:
    """Raises ValidationError with the first attribute that is not of its declared type."""
    for name in types.keys() & attributes.keys():
        value, kind = attributes[name], types[name]
        if value is None or value == "" or FITS[kind](value):  # which is none
            continue
        text = gettext("%(name)s: %(must_be)s, as its type says; %(it_is)s.")
        values = {"name": name, "must_be": MUST_BE[kind], "it_is": IS[_kind(value)]}
        raise ValidationError(text % values)


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, list):
        return "list"
    return "object" if isinstance(value, dict) else "number"


def _is_time(value: Any) -> bool:
    """Whether the value is an ISO 8601 date or time that rules can read."""
    if not isinstance(value, str) or not IS_ISO_TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value.upper())
    except ValueError:
        return False
    return True


FITS: dict[str, Callable[[Any], bool]] = {
    "time": _is_time,
    **{kind: lambda value, kind=kind: _kind(value) == kind  # type: ignore[misc]
       for kind in ("text", "number", "boolean", "list")},
}  # fmt: skip


def in_words(value: Any, declared: str, zone: str) -> str:
    """The value as a page shows it.

    A time with an offset is converted to `zone` and shown with it. A date, and a time without an
    offset, stay as they are. `declared`: the attribute's declared type; empty: none.
    """
    if declared not in ("", "time") or not _is_time(value):
        return plainly(value)
    moment = datetime.fromisoformat(value.upper())
    if moment.tzinfo:
        return short(moment, zone)
    return written(moment, str(DAY if IS_DAY.fullmatch(value) else DAY_AND_CLOCK))


# --- Finding people -------------------------------------------------------------------------------


def found_by(term: str, project_id: int) -> list[dict[str, Any]]:
    """Attribute filters for a search term: one for each searchable attribute and possible value.

    A value matches as a whole, in any usual case. Run each filter by itself. In one condition,
    PostgreSQL expects so many matches that it reads everybody from the newest on. For 5,000,000
    people that takes seconds, while each filter alone takes 20 ms.
    """
    searchable = Attribute.objects.filter(project=project_id, searchable=True).order_by()
    return [
        {name: value}
        for name, kind in searchable.values_list("name", "type")
        for value in _possible_values(term, kind)
    ]


def _possible_values(term: str, kind: str) -> list[Any]:
    """The values of this type that the term can mean; of any type, if none is declared."""
    texts: list[Any] = list(dict.fromkeys((term, term.lower(), term.upper(), term.title())))
    truths: list[Any] = [value for word, value in TRUTHS.items() if word == term.lower()]
    numbers: list[Any] = []
    if NUMBER.fullmatch(term):
        numbers = [float(term) if "." in term else int(term)]
    listed: list[Any] = [[value] for value in (*texts, *numbers)]
    by_kind = {"text": texts, "time": texts, "number": numbers, "boolean": truths, "list": listed}
    return by_kind[kind] if kind else [*texts, *numbers, *truths, *listed]


TRUTHS = {"true": True, "false": False}
NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,9})?")
