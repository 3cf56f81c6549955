"""Person attributes as form rows: one per attribute, of its declared type or its value's type.

The form works without JavaScript: two empty rows take new attributes, and an emptied value removes
its row. Values that no input can hold (an object, a list of numbers) are rows of JSON. A program
may also post all attributes as one JSON text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from unfold.widgets import INPUT_CLASSES

from notifications.admin.ui.json_field import ExactJSONText
from notifications.admin.ui.widgets import CodeArea
from notifications.people.attributes import Attribute
from notifications.people.contact import MAX_ATTRIBUTES
from notifications.values import exact

BLANK = 2  # rows for new attributes
MAX_UNUSED = 30  # declared attributes that this person lacks, each with a row
MAX_ROWS = MAX_ATTRIBUTES + MAX_UNUSED + 20
PARTS = ("name", "kind", "value")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
YES, NO = frozenset({"true", "yes"}), frozenset({"false", "no"})
KINDS = {**dict(Attribute.Type.choices), "json": "JSON"}
# An input's CSS classes without those for errors: they would make all rows red.
CLASSES = " ".join(one for one in INPUT_CLASSES if "errors" not in one)
OFFERED = ("text", "number", "boolean", "list", "json")  # a time is typed as text


@dataclass(frozen=True)
class Row:
    """One attribute as a row of the form. `declared`: the project declares its type."""

    name: str
    kind: str
    value: str
    declared: bool = False
    known: bool = True  # not one of the empty rows
    problem: str = ""

    @property
    def label(self) -> str:
        return str(KINDS.get(self.kind, self.kind))

    @property
    def chooses(self) -> bool:
        """Whether the row offers a choice between two values."""
        return self.known and self.kind == "boolean"


def rows_of(attributes: Mapping[str, Any], types: Mapping[str, str]) -> list[Row]:
    """Rows for the person's attributes, then for declared ones they lack, then empty rows."""
    present = [_row(name, value, types.get(name, "")) for name, value in attributes.items()]
    unused = sorted(types.keys() - attributes.keys())[:MAX_UNUSED]
    lacking = [Row(name, types[name], "", declared=True) for name in unused]
    return [*present, *lacking, *_blank()]


def _blank() -> list[Row]:
    return [Row("", "text", "", known=False) for _ in range(BLANK)]


def _row(name: str, value: Any, declared: str) -> Row:
    kind = _kind(value, declared)
    return Row(name, kind, _text_of(value, kind), declared=kind == declared)


def _kind(value: Any, declared: str) -> str:
    if isinstance(value, str):
        return "time" if declared == "time" else "text"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "list" if _is_plain_list(value) else declared if value is None and declared else "json"


def _is_plain_list(value: Any) -> bool:
    """Whether the value is a list of texts, each one line and none empty."""
    texts = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    return bool(texts and value and not any("\n" in item or item != item.strip() for item in value))


def _text_of(value: Any, kind: str) -> str:
    if kind == "list":
        return "\n".join(value)
    if isinstance(value, str):
        return value
    return "" if value is None and kind != "json" else exact.dumps(value).decode()


class Rows(forms.Widget):
    """The rows, or a text area of JSON if JSON was posted."""

    types: Mapping[str, str] = {}
    wrong: Mapping[str, str] = {}  # why a value was refused, by name

    class Media:
        css = {"all": ["person.css"]}
        js = ["person.js"]

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        if f"{name}-rows" not in data:
            return data.get(name)
        columns = [data.getlist(f"{name}-{part}") for part in PARTS]
        return [Row(*cells) for cells in zip(*columns, strict=False)]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in data and f"{name}-rows" not in data

    def id_for_label(self, id_: str) -> str:
        return ""  # each row has its own

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        if isinstance(value, str):
            return CodeArea(rows=12).render(name, value, attrs, renderer)
        typed = isinstance(value, list)
        rows = self._again(value) if typed else rows_of(value or {}, self.types)
        context = {
            "name": name,
            "rows": rows,
            "kinds": [(kind, KINDS[kind]) for kind in OFFERED],
            "classes": CLASSES,
        }
        return render_to_string("admin/notifications/contact/attribute_rows.html", context)

    def _again(self, typed: Iterable[Row]) -> list[Row]:
        """The rows as they were typed, each with the reason for its refusal."""
        named = [
            Row(
                row.name,
                row.kind,
                row.value,
                declared=row.kind == self.types.get(row.name),
                problem=self.wrong.get(row.name.strip(), ""),
            )
            for row in typed
            if row.name or row.value
        ]
        return [*named, *_blank()]


class AttributeRows(ExactJSONText):
    widget = Rows  # type: ignore[assignment]  # a widget of its own, of no text

    def to_python(self, value: Any) -> Any:
        if not isinstance(value, list):
            return super().to_python(value)
        if len(value) > MAX_ROWS:
            raise ValidationError(_("Too many rows; at most %(most)s.") % {"most": MAX_ROWS})
        types: Mapping[str, str] = getattr(self.widget, "types", {})
        rows = [row for row in value if row.value.strip()]
        _refuse_nameless_and_twice(rows)
        read = self._read_all(rows, types)
        # The JSON field refuses what PostgreSQL cannot store.
        return super().to_python(exact.dumps(read).decode()) if read else {}

    def _read_all(self, rows: list[Row], types: Mapping[str, str]) -> dict[str, Any]:
        """Read all rows. Raises ValidationError with every problem; each row shows its own, too."""
        read: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for row in rows:
            name = row.name.strip()
            try:
                read[name] = self._read(row, types.get(name))
            except ValidationError as error:
                wrong[name] = " ".join(error.messages)
        self.widget.wrong = wrong
        if wrong:
            raise ValidationError([f"{name}: {words}" for name, words in wrong.items()])
        return read

    def _read(self, row: Row, declared: str | None) -> Any:
        # JSON may have any type: the person's own validation compares it with the declared one.
        kind = row.kind if row.kind == "json" else declared or row.kind
        return self._value(kind, row.value.replace("\r\n", "\n"))

    def _value(self, kind: str, text: str) -> Any:
        bare = text.strip()
        if kind == "number":
            if not NUMBER.fullmatch(bare):
                raise ValidationError(_("write a number such as 12 or 0.5, without spaces."))
            return self.fraction(bare) if set(bare) & set(".eE") else self.whole(bare)
        if kind == "boolean":
            if bare.lower() not in YES | NO:
                raise ValidationError(_("write yes or no."))
            return bare.lower() in YES
        if kind == "list":
            return [line.strip() for line in text.split("\n") if line.strip()]
        if kind == "json":
            return super().to_python(text)
        return bare if kind == "time" else text

    def bound_data(self, data: Any, initial: Any) -> Any:
        return data if isinstance(data, list) else super().bound_data(data, initial)

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, list | dict) else super().prepare_value(value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            read = self.to_python(data)
        except ValidationError:
            return True
        return _comparable(initial or {}) != _comparable(with_empty_ones(read or {}, initial))


def _comparable(attributes: Any) -> bytes:
    """JSON to compare attributes: True differs from 1, and the order of keys does not count."""
    return exact.dumps(attributes, orjson.OPT_SORT_KEYS)


def _refuse_nameless_and_twice(rows: list[Row]) -> None:
    if any(not row.name.strip() for row in rows):
        raise ValidationError(_("A value has no name. Write the attribute's name beside it."))
    times = Counter(row.name.strip() for row in rows)
    if twice := [name for name, count in times.items() if count > 1]:
        raise ValidationError(
            _("“%(name)s” stands twice. Keep one of the two.") % {"name": twice[0]}
        )


def with_empty_ones(read: Any, before: Any) -> Any:
    """Keep empty texts and nulls of before: a row cannot tell them from a missing value."""
    if not isinstance(read, dict) or not isinstance(before, dict):
        return read
    blanks = {
        name: value for name, value in before.items() if value in (None, "") and name not in read
    }
    return {**blanks, **read}
