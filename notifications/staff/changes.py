"""Changes: the fields of a row that changed, with old and new values, for its audit entry.

For people, only the names of the fields: the audit trail outlives people who are erased.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model

from notifications.staff.subjects import PERSONAL

Values = dict[str, Any]
LONGEST = 2_000  # characters of one value: a template fits, a pasted novel does not
# The audit trail must not contain the values of these fields.
SECRET = {"password", "digest", "sealed", "sealed_before", "key"}
HIDDEN = "…"


def values_of(row: Model | None) -> Values:
    """Return the row's fields as JSON values."""
    if row is None:
        return {}
    fields = [f for f in row._meta.concrete_fields if not (f.primary_key or _sets_itself(f))]
    return {field.name: _value(row, field) for field in fields}


def _sets_itself(field: Any) -> bool:
    return getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False)


def _value(row: Model, field: Any) -> Any:
    if field.is_relation:
        other = getattr(row, field.name)
        return None if other is None else str(other)
    value = field.value_from_object(row)
    if isinstance(value, datetime):
        value = value.astimezone(UTC)  # the same moment in another zone is no change
    return json.loads(json.dumps(value, cls=DjangoJSONEncoder, default=str))


def between(before: Values, row: Model) -> dict[str, list[Any]]:
    """Return {field: [before, after]} for fields that changed. Empty for a new row."""
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
