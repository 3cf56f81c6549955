"""What one person would read: a text rendered for somebody, or why it cannot be."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from liquid.exceptions import LiquidError

from campaigns import liquid
from campaigns.rendering import Reader, Unrenderable, in_language, render
from campaigns.template import TEXTS
from notifications import payload
from notifications.contact import Contact
from notifications.gateway import Message
from notifications.project import Project

LOOKED_AT = 10_000  # the newest people: enough to see a hole, and one page of milliseconds
OWN = {"external_id": "c.external_id", "locale": "c.locale", "timezone": "c.timezone"}


@dataclass(frozen=True)
class Card:
    """What the phone card shows."""

    person: Contact | None
    locale: str
    message: Message | None = None
    refusal: str = ""
    detail: str = ""

    @property
    def bytes_used(self) -> int:
        return payload.size(self.message) if self.message else 0

    @property
    def bytes_allowed(self) -> int:
        return payload.MAX_BYTES


@dataclass(frozen=True)
class Variable:
    """A variable of the text, and for how many people it is missing."""

    name: str
    missing: int
    of: int
    needed: bool = field(default=True)


def somebody(project: Project, external_id: str = "") -> Contact | None:
    """The person named, or one at random."""
    people = Contact.objects.filter(project=project)
    if external_id:
        return people.filter(external_id=external_id).first()
    newest = people.order_by("-pk").first()
    oldest = people.order_by("pk").first()
    if newest is None or oldest is None:
        return None
    start = random.randint(oldest.pk, newest.pk)
    return people.filter(pk__gte=start).order_by("pk").first()


def card(content: Mapping[str, Any], person: Contact | None, *, locale: str = "") -> Card:
    shown_locale = locale or (person.locale if person else "")
    reader = Reader(
        reference="0:0",
        external_id=person.external_id if person else "",
        attributes=person.attributes if person else {},
        locale=shown_locale,
        timezone=person.timezone if person else "",
        kind="token",
        address="preview",
        platform="android",
    )
    try:
        message = render(content, reader, collapse_id="carillon-0", ttl_seconds=86_400)
    except Unrenderable as refusal:
        return Card(person, shown_locale, None, str(refusal.reason.label), refusal.detail)
    return Card(person, shown_locale, message)


def variables(content: Mapping[str, Any], project: Project) -> list[Variable]:
    """Each variable of any language, and for how many of the newest people it is missing."""
    sources = list(_sources(content))
    try:
        names = sorted(set().union(*(liquid.variables(source) for source in sources)))
    except LiquidError:
        return []
    of, missing = _missing(names, project) if names else (0, [])
    return [
        Variable(name, count, of, any(_needs(source, name, names) for source in sources))
        for name, count in zip(names, missing, strict=True)
    ]


def _sources(content: Mapping[str, Any]) -> set[str]:
    languages = [
        in_language(content, ""),
        *(in_language(content, key) for key in content["locales"]),
    ]
    texts = [text[name] for text in languages for name in TEXTS]
    return {*texts, *(value for text in languages for value in text["data"].values())}


def _needs(source: str, name: str, names: list[str]) -> bool:
    """Whether people without it are skipped, or the text says something else instead."""
    return _renders(source, names) and not _renders(source, [n for n in names if n != name])


def _renders(source: str, names: list[str]) -> bool:
    try:
        liquid.parse(source).render(**dict.fromkeys(names, "1"))
    except Exception:  # whatever Liquid or a filter raises, the person would be skipped
        return False
    return True


def _missing(names: list[str], project: Project) -> tuple[int, list[int]]:
    values = [OWN.get(name, "c.attributes ->> %s") for name in names]
    asked = [name for name in names if name not in OWN]
    columns = ", ".join(f"count(*) FILTER (WHERE COALESCE({value}, '') = '')" for value in values)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*), {columns} FROM (SELECT * FROM notifications_contact"
            " WHERE project_id = %s ORDER BY id DESC LIMIT %s) c",
            [*asked, project.pk, LOOKED_AT],
        )
        of, *missing = cursor.fetchone()
    return of, missing
