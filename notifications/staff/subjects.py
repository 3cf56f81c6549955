"""Subjects: the row that an audit entry is about, by kind and id.

Pages show its current name. The entry also keeps the name it had, in case the row is deleted. It
keeps no names of people, because the audit trail outlives people who are erased.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from django.apps import apps
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

# People who ask to be erased must not remain in an audit trail that nobody can erase.
PERSONAL = {"contact", "device", "suppression"}
ADDRESS = gettext_noop("address")  # a network address: a kind without rows


@dataclass(frozen=True)
class Subject:
    """What an audit entry is about. Without id and name: all rows of the kind, or many."""

    kind: str
    id: int | None = None
    name: str = ""

    @property
    def search_text(self) -> str:
        """The text by which people search the audit trail, in English: “run 12”."""
        if self.name and not _owner(self.kind):
            return f"{self.kind} {self.name}"
        return f"{self.kind}s" if self.id is None else f"{self.kind} {self.id}"

    def __str__(self) -> str:
        """The subject in the reader's language: “run 12 of Spring sale”."""
        model = _models().get(self.kind)
        word = model._meta.verbose_name if model else _(self.kind)
        if model and not self.name and self.id is None:
            return str(model._meta.verbose_name_plural)
        if not self.name:
            return f"{word} {self.id}"
        if not _owner(self.kind):
            return f"{word} {self.name}"
        text = _("%(kind)s %(number)s of %(name)s")
        return text % {"kind": word, "number": self.id, "name": self.name}


def describe_row(row: Model) -> Subject:
    """Return the subject as an audit entry stores it, without names of people."""
    today = of_today(row)
    return replace(today, name="") if today.kind in PERSONAL else today


def of_today(row: Model) -> Subject:
    kind = str(row._meta.model_name)
    owner = _owner(kind)
    return Subject(kind, row.pk, str(getattr(row, owner) if owner else row))


def load_subjects(entries: Iterable[Any]) -> dict[tuple[str, int], Model]:
    """Load the rows that entries are about, as they are now. One SQL statement per kind."""
    ids_by_kind: dict[str, set[int]] = defaultdict(set)
    for entry in entries:
        if entry.subject_id is not None and entry.subject_kind in _models():
            ids_by_kind[entry.subject_kind].add(entry.subject_id)
    return {
        (kind, pk): row
        for kind, ids in ids_by_kind.items()
        for pk, row in _rows(kind).in_bulk(ids).items()
    }


def choices_of(kind: str, name: str) -> dict[Any, str]:
    """Return the labels of a field's choices. Empty if the field has none."""
    model = _models().get(kind)
    if several := getattr(model, "keeps_several", {}).get(name):
        return dict(several)
    fields = [field for field in model._meta.get_fields() if field.name == name] if model else []
    return dict(getattr(fields[0], "flatchoices", ())) if fields else {}


def _rows(kind: str) -> Any:
    owner = _owner(kind)
    rows = _models()[kind]._base_manager
    return rows.select_related(owner) if owner else rows


def _owner(kind: str) -> str:
    """Return the field of a kind whose rows are named after another row, such as a run after its
    campaign. The model declares it; empty if it does not."""
    return getattr(_models().get(kind), "named_after", "")


@cache
def _models() -> dict[str, type[Model]]:
    return {str(model._meta.model_name): model for model in apps.get_models()}
