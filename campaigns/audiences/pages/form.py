"""Audience form: rules as blocks or JSON, or people pasted into a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminRadioSelectWidget

from campaigns.audiences import membership, rules
from campaigns.audiences.audience import Audience
from campaigns.audiences.pages.audience_preview import problems
from campaigns.audiences.pages.builder import RulesBuilder
from campaigns.audiences.words import sentence
from campaigns.texts.pages import edit_conflicts
from notifications.admin.ui.json_field import JSONText
from notifications.admin.ui.unfolded import ModelForm
from notifications.admin.ui.widgets import PlainArea
from notifications.postgres import row_lock
from notifications.staff import audit
from notifications.staff.audit import AuditEntry
from notifications.values import exact, row_versions
from notifications.values.moments import short


class AudienceForm(ModelForm):
    rules = JSONText(
        label=gettext_lazy("Rules"),
        required=False,
        empty=rules.everyone,
        widget=RulesBuilder(rows=14),
    )
    people = forms.CharField(
        label=gettext_lazy("People"),
        required=False,
        widget=PlainArea(rows=10, placeholder="u0000001\nu0000002"),
        help_text=gettext_lazy("Their external ids, one on each line."),
    )
    mode = forms.ChoiceField(
        label=gettext_lazy("What to do with them"),
        choices=membership.Mode.choices,
        initial=membership.Mode.ADD,
        required=False,
        widget=UnfoldAdminRadioSelectWidget(),
    )

    class Meta:
        model = Audience
        fields = ["project", "name", "kind", "rules"]
        error_messages = {
            NON_FIELD_ERRORS: {
                "unique_together": gettext_lazy("Another audience has this name already.")
            }
        }

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        if data is not None:
            row_lock.lock_and_reload(kwargs.get("instance"))
        super().__init__(data, *args, **kwargs)
        self.seen = row_versions.carried(_compared_values(vars(self.instance)))
        self.pasted: list[int] = []
        if "rules" in self.initial and not rules.problems(self.initial["rules"]):
            self.initial["rules"] = in_reading_order(self.initial["rules"])
        if self.instance.pk:  # rules elsewhere may name this list
            self.fields["kind"].disabled = True

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # Django validates the model here
        if wrong := self.errors.as_data().get("rules"):
            texts = [str(problem) for problem in problems(forms.ValidationError(wrong))]
            self.errors["rules"] = self.error_class(texts)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self._look_at_what_others_saved(cleaned)
        if cleaned.get("kind") != Audience.Kind.LIST:
            return cleaned
        # Hidden fields must not make the visible form invalid.
        self.errors.pop("rules", None)
        cleaned["rules"] = rules.everyone()
        if cleaned.get("people") and cleaned.get("project"):
            try:
                lines = membership.lines_of(cleaned["people"])
                self.pasted = membership.look_up(cleaned["project"].pk, lines)
            except forms.ValidationError as error:
                self.add_error("people", error)
        return cleaned

    def _look_at_what_others_saved(self, cleaned: dict[str, Any]) -> None:
        """If two users save, the second one sees the first one's changes and decides. Nobody's work
        is lost."""
        was, theirs = row_versions.parse(self.data.get("seen", "")), self.instance
        if not theirs.pk or not was:
            return
        mine = {**cleaned, "kind": theirs.kind}
        merged = edit_conflicts.merge_edits(
            was, _compared_values(mine), _compared_values(vars(theirs))
        )
        if merged is None:
            return
        data: Any = self.data.copy()  # type: ignore[attr-defined]  # what Django posts can
        for change in merged.taken:
            name = change.path[0]
            data[name] = self.fields[name].prepare_value(self.initial[name])
        self.data = data
        labels = {name: str(field.label) for name, field in self.fields.items()}
        messages = [_describe_theirs(theirs), *edit_conflicts.taken_over(merged.taken, labels)]
        self.add_error(None, " ".join(messages))


def _compared_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that two users may both change. Rules are compared as a whole: merging halves would
    give rules that nobody wrote."""
    rules_in_one = exact.dumps(values.get("rules"), orjson.OPT_SORT_KEYS).decode()
    listed = values["kind"] == Audience.Kind.LIST
    return {"name": values.get("name"), **({} if listed else {"rules": rules_in_one})}


def _describe_theirs(theirs: Audience) -> str:
    text = _(
        "{who} saved this audience on {when}, while you were editing. Theirs is “{name}”: "
        "{rules}. Yours is below and not saved yet. Save again to keep yours."
    )
    return text.format(
        who=audit.who_changed(theirs),
        when=short(theirs.updated_at, theirs.project.timezone),
        name=theirs.name,
        rules=sentence(theirs.effective_rules, project_id=theirs.project_id),
    )


def last_saved(audience: Audience, *, by: str) -> int:
    """A number that grows with each save. It tells a browser that its form was saved."""
    entry = _trail(audience).filter(actor=by).first()
    return entry.pk if entry else 0


def _trail(audience: Audience) -> QuerySet[AuditEntry]:
    return audit.entries_of(audience).filter(project=audience.project_id).order_by("-pk")


def in_reading_order(node: dict[str, Any]) -> dict[str, Any]:
    """The rules with keys in the order field, op, value: PostgreSQL sorts keys by length."""
    for word in ("all", "any"):
        if word in node:
            return {word: [in_reading_order(inner) for inner in node[word]]}
    if "not" in node:
        return {"not": in_reading_order(node["not"])}
    return {key: node[key] for key in ("field", "op", "value") if key in node}
