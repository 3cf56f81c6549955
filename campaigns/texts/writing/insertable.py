"""The variables that an author can insert: what people really have, and how many have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from campaigns.audiences import vocabulary
from campaigns.texts import preview
from campaigns.texts.content import in_language
from campaigns.texts.snippets.mentions import HEAD
from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.writing import coverage
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.values.plain_values import briefly

# A list or an object cannot be read in a sentence.
READABLE = ("text", "number", "time", "boolean")
LONGEST = 40
MAX_COUNTED = 60  # for an audience, because its people are read for it


@dataclass(frozen=True)
class Insertable:
    """One variable, ready to be put into a text."""

    name: str
    percent: int
    value: str  # what the person in the preview has

    @property
    def everyone(self) -> bool:
        return self.percent == 100


def known(project: Project, person: Contact | None) -> list[Insertable]:
    """The people's attributes, the most frequent first; then the fields that any person has."""
    has = person.attributes if person else {}
    attributes = [
        Insertable(attribute.name, attribute.percent, _short(has.get(attribute.name)))
        for attribute in _readable(project)
    ]
    return [*attributes, *_own(project, person)]


def known_among(
    project: Project, person: Contact | None, rules: dict[str, Any]
) -> tuple[list[Insertable], int]:
    """The same variables, counted among the people of an audience, and how many people it has.

    The list is empty if they cannot be counted in time.
    """
    names = [*(attribute.name for attribute in _readable(project)[:MAX_COUNTED]), *preview.OWN]
    people, lacking = coverage.lacking(names, project, rules)
    own = {name: getattr(person, name, "") for name in preview.OWN}
    has = {**(person.attributes if person else {}), **own}
    variables = [
        Insertable(name, _percent(people - count, people), _short(has.get(name)))
        for name, count in zip(names, lacking, strict=True)
    ]
    variables.sort(key=lambda item: -item.percent)  # equal ones keep their order: ours at the end
    return (variables if people else []), people


def _readable(project: Project) -> list[vocabulary.Attribute]:
    return [
        attribute
        for attribute in vocabulary.attributes(project.pk)
        if attribute.types[0] in READABLE
    ]


def snippets(project: Project, person: Contact | None) -> list[Insertable]:
    """The snippets that a text can mention, each as the person would read it."""
    locale = person.locale if person else ""
    return [
        Insertable(
            f"{HEAD}.{snippet.name}", 100, _short(in_language(snippet.alone(), locale)["body"])
        )
        for snippet in Snippet.objects.filter(project=project)
    ]


def _own(project: Project, person: Contact | None) -> list[Insertable]:
    names = list(preview.OWN)
    total, lacking = preview.missing(names, project)
    return [
        Insertable(name, _percent(total - count, total), _short(getattr(person, name, "")))
        for name, count in zip(names, lacking, strict=True)
    ]


def _percent(count: int, of: int) -> int:
    """The percentage; never 100 while a person lacks it."""
    return 100 if count >= of else 100 * count // of


def _short(value: Any) -> str:
    return "" if value in (None, "") else briefly(value, LONGEST)
