"""The form of an attribute: a type that people or rules contradict has to be confirmed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldBooleanWidget

from campaigns.admin.attribute.attribute_table import MAX_USERS, PREFIX, TYPES
from campaigns.audiences import vocabulary
from campaigns.audiences.audience import Audience
from campaigns.audiences.bounds import leaves
from campaigns.launch_check.warnings import NEEDS
from notifications.admin.ui.unfolded import ModelForm
from notifications.people.attributes import FITS, Attribute

MAX_NAMED = 10


class Confirmation(forms.BooleanField):
    def has_changed(self, initial: Any, data: Any) -> bool:
        """Never changed: it is no field of the attribute, so the audit trail must not name it."""
        return False


class AttributeForm(ModelForm):
    confirmed = Confirmation(
        label=gettext_lazy("Declare it anyway"), required=False, widget=forms.HiddenInput
    )

    class Meta:
        model = Attribute
        fields = ["project", "name", "type", "searchable"]

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        kind = values.get("type")
        if self.errors or not kind or values.get("confirmed") or "type" not in self.changed_data:
            return values
        project = (values.get("project") or self.instance.project).pk
        name = values.get("name") or self.instance.name
        if doubts := [*_other_types(project, name, kind), *_other_rules(project, name, kind)]:
            self.fields["confirmed"].widget = UnfoldBooleanWidget()
            for doubt in doubts:
                self.add_error("type", doubt)
        return values


def _other_types(project_id: int, name: str, kind: str) -> Iterator[str]:
    counted = vocabulary.types_of(project_id, name)
    if counted is None:
        yield _("Counting who has another type took too long.")
        return
    misfits = {other: count for other, count in counted.counts.items() if not _fits(other, kind)}
    if misfits:
        text = _("%(count)s of the %(people)s people checked have another type: %(types)s.")
        yield text % {
            "count": f"{sum(misfits.values()):,}",
            "people": f"{counted.people:,}",
            "types": ", ".join(str(TYPES[other]) for other in misfits),
        }


def _other_rules(project_id: int, name: str, kind: str) -> Iterator[str]:
    by_rules = Audience.objects.filter(project=project_id, kind=Audience.Kind.RULES)
    names = [
        audience.name
        for audience in by_rules.order_by("name")[:MAX_USERS]
        if any(
            leaf["field"] == PREFIX + name and _compares_otherwise(leaf, kind)
            for leaf in leaves(audience.rules)
        )
    ]
    if names:
        text = _("Audiences compare it with another type: %(names)s.")
        more = ["…"] if len(names) > MAX_NAMED else []
        yield text % {"names": ", ".join([*names[:MAX_NAMED], *more])}


def _compares_otherwise(leaf: dict[str, Any], kind: str) -> bool:
    op, value = leaf.get("op"), leaf.get("value")
    if op in (*NEEDS, "has_none"):
        needed = NEEDS.get(op, "list")
        return not _fits(kind, needed) and not _fits(needed, kind)
    values = value if isinstance(value, list) else [value]
    return any(item is not None and not FITS[kind](item) for item in values)


def _fits(kind: str, expected: str) -> bool:
    """Whether values of `kind` fit where `expected` is needed. A time is also a text."""
    return kind == expected or (kind, expected) == ("time", "text")
