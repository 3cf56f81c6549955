"""The form of an audience: rules in blocks or as JSON, or people pasted into a list."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminRadioSelectWidget

from campaigns.admin import membership
from campaigns.admin.builder import RulesBuilder
from campaigns.audience import Audience
from campaigns.rules import everyone
from notifications.admin.json_field import JSONText
from notifications.admin.unfolded import ModelForm
from notifications.admin.widgets import PlainArea


class AudienceForm(ModelForm):
    rules = JSONText(required=False, empty=everyone, widget=RulesBuilder(rows=14))
    people = forms.CharField(
        label="People",
        required=False,
        widget=PlainArea(rows=10, placeholder="u0000001\nu0000002"),
        help_text="Their external ids, one on each line.",
    )
    mode = forms.ChoiceField(
        label="What to do with them",
        choices=membership.Mode.choices,
        initial=membership.Mode.ADD,
        required=False,
        widget=UnfoldAdminRadioSelectWidget(),
    )

    class Meta:
        model = Audience
        fields = ["project", "name", "kind", "rules"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pasted: list[int] = []
        if isinstance(rules := self.initial.get("rules"), dict):
            self.initial["rules"] = in_reading_order(rules)
        if self.instance.pk:  # rules elsewhere may name this list
            self.fields["kind"].disabled = True

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("kind") != Audience.Kind.LIST:
            return cleaned
        # What the page hides must not refuse what it shows.
        self.errors.pop("rules", None)
        cleaned["rules"] = everyone()
        if cleaned.get("people") and cleaned.get("project"):
            try:
                lines = membership.lines_of(cleaned["people"])
                self.pasted = membership.look_up(cleaned["project"].pk, lines)
            except forms.ValidationError as error:
                self.add_error("people", error)
        return cleaned


def in_reading_order(node: dict[str, Any]) -> dict[str, Any]:
    """Field, op, value: PostgreSQL gives an object's keys back sorted by their length."""
    for word in ("all", "any"):
        if word in node:
            return {word: [in_reading_order(inner) for inner in node[word]]}
    if "not" in node:
        return {"not": in_reading_order(node["not"])}
    return {key: node[key] for key in ("field", "op", "value") if key in node}
