"""The attributes of a project, declared or only sent: each with its values, and what uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy
from liquid.exceptions import LiquidError

from campaigns.audiences import vocabulary
from campaigns.audiences.audience import Audience
from campaigns.audiences.bounds import leaves
from campaigns.audiences.vocabulary import Described
from campaigns.texts import liquid, preview
from campaigns.texts.content import sources
from campaigns.texts.snippets import usage
from campaigns.texts.template import Template
from notifications.people.attributes import Attribute
from notifications.people.project import Project
from notifications.values.plain import briefly

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
    snippets = usage.said(project.pk)
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
