"""The pages of attributes: how many people have each, and what uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from liquid.exceptions import LiquidError
from unfold.widgets import UnfoldBooleanWidget

from campaigns.audiences import vocabulary
from campaigns.audiences.audience import Audience
from campaigns.audiences.bounds import leaves
from campaigns.audiences.vocabulary import Described
from campaigns.launch_check.warnings import NEEDS
from campaigns.texts import liquid, preview
from campaigns.texts.content import sources
from campaigns.texts.snippets import usage
from campaigns.texts.template import Template
from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.page import Page
from notifications.admin.ui.unfolded import ModelForm
from notifications.people.attributes import FITS, Attribute
from notifications.people.project import Project
from notifications.values.plain_values import briefly

# --- The form -------------------------------------------------------------------------------------

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


# --- The table ------------------------------------------------------------------------------------

MAX_USERS = 1_000  # how many templates, and how many audiences, are searched
PREFIX = "attributes."
LONGEST_EXAMPLE = 40
TYPES = {**dict(Attribute.Type.choices), "object": pgettext_lazy("type of a value", "Object")}


@dataclass(frozen=True)
class Row:
    """One attribute: what was declared, and what people really have."""

    name: str
    declared: Attribute | None
    seen: Described | None
    users: list[str] = field(default_factory=list)
    is_counted: bool = True

    @property
    def type(self) -> str:
        return self.declared.type if self.declared else ""

    @property
    def type_said(self) -> str:
        return str(TYPES[self.type]) if self.type else ""

    @property
    def types_seen(self) -> str:
        types = self.seen.types if self.seen else []
        return ", ".join(str(TYPES[kind]) for kind in types)

    @property
    def likely(self) -> str:
        """The type that is suggested when it is declared."""
        types = self.seen.types if self.seen else []
        return types[0] if len(types) == 1 and types[0] in Attribute.Type.values else ""

    @property
    def odd(self) -> str:
        """People who had another type before this one was declared."""
        other_types = [kind for kind in (self.seen.types if self.seen else []) if kind != self.type]
        if not self.type or not other_types or (self.type == "text" and other_types == ["time"]):
            return ""
        text = _("Some people still have another type: %(types)s.")
        return text % {"types": ", ".join(str(TYPES[kind]) for kind in other_types)}

    @property
    def coverage(self) -> str:
        if not self.is_counted:
            return _("counting took too long")
        if self.seen is None:
            return _("none of the people checked has it")
        values = ngettext("%(count)s value", "%(count)s values", self.seen.values)
        text = _("%(percent)s %% of people, %(values)s")
        counted = values % {"count": f"{self.seen.values:,}"}
        return text % {"percent": self.seen.percent, "values": counted}

    @property
    def examples(self) -> str:
        values = self.seen.examples if self.seen else []
        return " · ".join(briefly(value, LONGEST_EXAMPLE) for value in values)


def rows(project: Project) -> list[Row]:
    """All attributes, the most common first. Those only declared or used come last."""
    declared = {
        attribute.name: attribute for attribute in Attribute.objects.filter(project=project)
    }
    described = vocabulary.described(project.pk)
    seen_by_name = {attribute.name: attribute for attribute in described or ()}
    users = _users(project)
    names = dict.fromkeys([*seen_by_name, *declared, *sorted(users)])
    counted = described is not None
    return [
        Row(name, declared.get(name), seen_by_name.get(name), users.get(name, []), counted)
        for name in names
    ]


def _users(project: Project) -> dict[str, list[str]]:
    """What uses each attribute, by name. Built-in variables of texts, such as the locale, are not
    attributes."""
    templates, audiences = Counter(_in_templates(project)), Counter(_in_audiences(project))

    def said(name: str) -> list[str]:
        parts = []
        if count := templates[name]:
            parts.append(ngettext("%(n)s template", "%(n)s templates", count) % {"n": count})
        if count := audiences[name]:
            parts.append(ngettext("%(n)s audience", "%(n)s audiences", count) % {"n": count})
        return parts

    return {name: said(name) for name in {*templates, *audiences} - {"", *preview.OWN}}


def _in_templates(project: Project) -> Iterator[str]:
    snippets = usage.snippets_to_freeze(project.pk)
    for template in Template.objects.filter(project=project)[:MAX_USERS]:
        template.snippets_known = snippets
        names: set[str] = set()
        for source in sources(template.frozen()):
            with suppress(LiquidError):
                names |= liquid.variables(source)
        yield from names


def _in_audiences(project: Project) -> Iterator[str]:
    by_rules = Audience.objects.filter(project=project, kind=Audience.Kind.RULES)
    for audience in by_rules[:MAX_USERS]:
        fields = {str(leaf.get("field", "")) for leaf in leaves(audience.rules)}
        yield from {name.removeprefix(PREFIX) for name in fields if name.startswith(PREFIX)}


# --- The page -------------------------------------------------------------------------------------


@admin.register(Attribute)
class AttributePage(Page):
    form = AttributeForm
    fields = ["project", "name", "type", "searchable", "confirmed"]
    search_fields = ["name"]
    empty_text = gettext_lazy("The attributes your app sends about people appear here by name.")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        # The name cannot change: another name is another attribute.
        return ["name"] if obj else []

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list of attributes, declared or not."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        project = current_project(request)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Attributes"),
            "opts": self.opts,
            "rows": rows(project) if project else [],
            "may_change": self.has_add_permission(request),
        }
        return TemplateResponse(request, "admin/campaigns/attribute/list.html", context)
