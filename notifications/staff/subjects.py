"""What an audit entry is about: a row by its kind and id, and each field before and after.

It is shown by its name of today. The entry keeps the name it had, for when it is gone; of people
none, and nothing of what they are like: the trail outlives who is erased.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.apps import apps
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

Values = dict[str, Any]
LONGEST = 2_000  # characters of one value: a template fits, a pasted novel does not
# Their values are never kept: a secret has no place in a trail, and what is erased when a person
# asks for it must not live on in one that nobody can erase.
SECRET = {"password", "digest", "sealed", "key"}
PERSONAL = {"contact", "device"}
HIDDEN = "…"

ADDRESS = gettext_noop("address")  # of the network: a kind without rows


@dataclass(frozen=True)
class Subject:
    """Without an id or a name: all of the kind, or many."""

    kind: str
    id: int | None = None
    name: str = ""

    @property
    def in_english(self) -> str:
        """For the release before, which shows it and looks for it."""
        if self.name and not _owner(self.kind):
            return f"{self.kind} {self.name}"
        return f"{self.kind}s" if self.id is None else f"{self.kind} {self.id}"

    def __str__(self) -> str:
        """“run 12 of Spring sale”, in the reader's language."""
        model = _models().get(self.kind)
        word = model._meta.verbose_name if model else _(self.kind)
        if model and not self.name and self.id is None:
            return str(model._meta.verbose_name_plural)
        if not self.name:
            return f"{word} {self.id}"
        if not _owner(self.kind):
            return f"{word} {self.name}"
        said = _("%(kind)s %(number)s of %(name)s")
        return said % {"kind": word, "number": self.id, "name": self.name}


def of(row: Model) -> Subject:
    """As an entry keeps it."""
    today = of_today(row)
    return replace(today, name="") if today.kind in PERSONAL else today


def of_today(row: Model) -> Subject:
    kind = str(row._meta.model_name)
    owner = _owner(kind)
    return Subject(kind, row.pk, str(getattr(row, owner) if owner else row))


def found(entries: Iterable[Any]) -> dict[tuple[str, int], Model]:
    """The rows of today that entries are about; one statement for each kind."""
    asked: dict[str, set[int]] = defaultdict(set)
    for entry in entries:
        if entry.subject_id is not None and entry.subject_kind in _models():
            asked[entry.subject_kind].add(entry.subject_id)
    return {
        (kind, pk): row
        for kind, ids in asked.items()
        for pk, row in _rows(kind).in_bulk(ids).items()
    }


def choices_of(kind: str, name: str) -> dict[Any, str]:
    """What the codes of a field are called; empty for a field without."""
    model = _models().get(kind)
    fields = [field for field in model._meta.get_fields() if field.name == name] if model else []
    return dict(getattr(fields[0], "flatchoices", ())) if fields else {}


def _rows(kind: str) -> Any:
    owner = _owner(kind)
    rows = _models()[kind]._base_manager
    return rows.select_related(owner) if owner else rows


def _owner(kind: str) -> str:
    """Such rows have a number, and the name of what they are of: the model says by which field."""
    return getattr(_models().get(kind), "named_after", "")


@cache
def _models() -> dict[str, type[Model]]:
    return {str(model._meta.model_name): model for model in apps.get_models()}


# --- What changed ---------------------------------------------------------------------------------


def values_of(row: Model | None) -> Values:
    """The row's fields in words and numbers."""
    if row is None:
        return {}
    fields = [f for f in row._meta.concrete_fields if not (f.primary_key or _by_itself(f))]
    return {field.name: _value(row, field) for field in fields}


def _by_itself(field: Any) -> bool:
    return getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False)


def _value(row: Model, field: Any) -> Any:
    if field.is_relation:
        other = getattr(row, field.name)
        return None if other is None else str(other)
    value = field.value_from_object(row)
    if isinstance(value, datetime):
        value = value.astimezone(UTC)  # the same instant in another zone is no change
    return json.loads(json.dumps(value, cls=DjangoJSONEncoder, default=str))


def between(before: Values, row: Model) -> dict[str, list[Any]]:
    """{field: [before, after]} of what is not the same; of a new row, nothing: it is all new."""
    after = values_of(row) if before else {}
    changed = {name: [before.get(name), value] for name, value in after.items()
               if before.get(name) != value}  # fmt: skip
    if row._meta.model_name in PERSONAL:
        return {name: [HIDDEN, HIDDEN] for name in changed}
    return {
        name: [HIDDEN, HIDDEN] if name in SECRET else [_short(value) for value in pair]
        for name, pair in changed.items()
    }


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
