"""Previews: a text rendered for one person, or why that person would not get it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import IntEnum
from functools import partial
from typing import Any

import orjson
from django.db import connection
from liquid.exceptions import LiquidError

from campaigns.audiences import vocabulary
from campaigns.texts import liquid
from campaigns.texts.content import Content, languages_of, on_platform
from campaigns.texts.rendering import Reader, Unrenderable, render
from notifications.fcm import payload, sizes, visible_length
from notifications.fcm.options import PLATFORMS
from notifications.gateway import Push
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow, statement_timeout

PEOPLE_READ = 10_000  # the newest people: enough to see what is missing, in milliseconds
COLLAPSE_ID, A_DAY = "carillon-0", 86_400
TRIED = 8  # people, to find one who is not skipped
OWN = {"external_id": "c.external_id", "locale": "c.locale", "timezone": "c.timezone"}


@dataclass(frozen=True)
class Card:
    """What the preview of one phone shows."""

    person: Contact | None
    locale: str
    platform: str
    message: Push | None = None
    refusal: str = ""
    detail: str = ""
    fate: str = "skipped"
    refused: Push | None = None  # what FCM would refuse: it is drawn all the same

    @property
    def drawn(self) -> Push | None:
        return self.message or self.refused

    @property
    def title(self) -> visible_length.Parted:
        return visible_length.parted(self.platform, "title", self.drawn.title if self.drawn else "")

    @property
    def body(self) -> visible_length.Parted:
        return visible_length.parted(self.platform, "body", self.drawn.body if self.drawn else "")

    @property
    def buttons(self) -> list[str]:
        """The titles of the buttons. Buttons in the web options take precedence."""
        if self.drawn is None:
            return []
        own = self.drawn.options.get("actions") or self.drawn.buttons
        return [button["title"] for button in own]

    @property
    def category(self) -> str:
        """On iOS, the name under which the app registered its buttons; else empty."""
        own = self.drawn.options.get("category", "") if self.drawn else ""
        return str(own) if self.platform == "ios" else ""

    @property
    def platform_label(self) -> str:
        return str(Device.Platform(self.platform).label)

    @property
    def as_fcm(self) -> str:
        """The JSON that FCM would get."""
        fcm = payload.as_fcm(self.message) if self.message else {}
        return orjson.dumps(fcm, option=orjson.OPT_INDENT_2).decode()

    @property
    def bytes_used(self) -> int:
        return max(sizes.measure(payload.as_fcm(self.drawn)).values()) if self.drawn else 0

    @property
    def bytes_allowed(self) -> int:
        return sizes.MAX_BYTES

    @property
    def narrow(self) -> bool:
        """Whether the message may exceed the limit for a person with a longer name."""
        return self.bytes_used >= sizes.NARROW_BYTES


class Need(IntEnum):
    """Which readers of a text are skipped if they lack a value."""

    NOBODY = 0
    SOME = 1  # those of some languages or platforms
    ALL = 2


@dataclass(frozen=True)
class Variable:
    """A variable of the text, and for how many people it is missing."""

    name: str
    missing: int
    of: int
    need: Need
    nearest: str = ""  # an attribute that people do have, if nobody has this one
    texts: tuple[int, ...] = (0,)  # those that skip people without it, else those that use it

    @property
    def needed(self) -> bool:
        return self.need is not Need.NOBODY

    @property
    def needed_by_all(self) -> bool:
        return self.need is Need.ALL

    @property
    def unknown(self) -> bool:
        return self.of > 0 and self.missing == self.of


def pick_person(project: Project, external_id: str = "") -> Contact | None:
    """The person with this external id, or one at random."""
    people = Contact.objects.filter(project=project)
    if external_id:
        return people.filter(external_id=external_id).first()
    newest = people.order_by("-pk").first()
    oldest = people.order_by("pk").first()
    if newest is None or oldest is None:
        return None
    start = random.randint(oldest.pk, newest.pk)
    return people.filter(pk__gte=start).order_by("pk").first()


def reader(project: Project, content: Content | None) -> Contact | None:
    """A person at random; for a content, one who would get it, if a few tries find one."""
    if content is None:
        return pick_person(project)
    return readable_by(content, [pick_person(project) for _ in range(TRIED)])


def readable_by(content: Content, people: Iterable[Contact | None]) -> Contact | None:
    """The first of these people who would get it; if all would be skipped, the first."""
    contacts = [contact for contact in people if contact is not None]
    sent_to = (contact for contact in contacts if card(content, contact).message)
    return next(sent_to, contacts[0] if contacts else None)


def cards(content: Content, person: Contact | None, *, locale: str = "") -> list[Card]:
    """The same text on every platform: options, limits and rules differ."""
    return [card(content, person, locale=locale, platform=platform) for platform in PLATFORMS]


def card(
    content: Content, person: Contact | None, *, locale: str = "", platform: str = "android"
) -> Card:
    shown_locale = locale or (person.locale if person else "")
    reader = Reader(
        reference="0:0",
        external_id=person.external_id if person else "",
        attributes=person.attributes if person else {},
        locale=shown_locale,
        timezone=person.timezone if person else "",
        kind="token",
        address="preview",
        platform=platform,
    )
    drawn = Card(person, shown_locale, platform)
    try:
        message = render(content, reader, collapse_id=COLLAPSE_ID, ttl_seconds=A_DAY)
    except Unrenderable as refusal:
        fate = "rejected" if refusal.rejected else "skipped"
        about: dict[str, Any] = {
            "refusal": str(refusal.reason.label),
            "detail": refusal.detail,
            "fate": fate,
        }
        return replace(drawn, **about, refused=refusal.message or _with_names(content, reader))
    return replace(drawn, message=message)


def _with_names(content: Content, reader: Reader) -> Push | None:
    """Render with names in place of the values they lack (‹city›), so that the rest can be seen."""
    names = {str(path[0]) for path in needed(content) if len(path) == 1}
    lacking = {name: f"‹{name}›" for name in names if reader.attributes.get(name) in (None, "")}
    stand_in = replace(reader, attributes={**reader.attributes, **lacking})
    with suppress(Unrenderable):
        return render(content, stand_in, collapse_id=COLLAPSE_ID, ttl_seconds=A_DAY)
    return None


def as_read(content: Content, person: Contact | None) -> tuple[str, str]:
    """Title and body as a person reads them; a value that they lack appears by name: ‹city›."""
    message = card(content, person).drawn
    return (message.title, message.body) if message else (content["title"], content["body"])


Lacking = Callable[[list[str], Project], tuple[int, list[int]]]


def variables(
    content: Content,
    project: Project,
    *,
    others: Sequence[Content] = (),
    lacks: Lacking | None = None,
) -> list[Variable]:
    """The variables of these texts in all languages, and how many people lack each.

    It counts the newest people, or those that `lacks` counts.
    """
    texts = [_needs(one) for one in (content, *others)]
    names = sorted(set().union(*texts))
    total, lacking = (lacks or missing)(names, project) if names else (0, [])
    listed = [
        _variable(name, count, total, texts) for name, count in zip(names, lacking, strict=True)
    ]
    if not any(variable.unknown for variable in listed):
        return listed
    known = [*OWN, *(attribute.name for attribute in vocabulary.attributes(project.pk))]
    return [replace(one, nearest=_nearest(one.name, known)) if one.unknown else one
            for one in listed]  # fmt: skip


def _needs(content: Content) -> dict[str, Need]:
    """Each variable of the text, and who needs it; empty if the text is not valid."""
    readings = list(_readings(content))
    try:
        names = set[str]().union(*(liquid.variables(source) for source in set().union(*readings)))
    except LiquidError:
        return {}
    needed = [{path[0] for path in _needed(reading)} for reading in readings]
    return {name: _need(name, needed) for name in names}


def _need(name: str, needed: Sequence[Set[Any]]) -> Need:
    if all(name in names for names in needed):
        return Need.ALL
    return Need.SOME if any(name in names for names in needed) else Need.NOBODY


def _variable(name: str, missing: int, total: int, texts: Sequence[dict[str, Need]]) -> Variable:
    needs = {n: text_needs[name] for n, text_needs in enumerate(texts) if name in text_needs}
    concerned = {n: need for n, need in needs.items() if need} or needs
    return Variable(name, missing, total, min(concerned.values()), texts=(*concerned,))


def _nearest(name: str, known: list[str]) -> str:
    by_spelling = {
        candidate.lower().replace("_", ""): candidate for candidate in known if candidate != name
    }
    bare = re.sub(r"[\W_]", "", name.lower())
    return next((by_spelling[near] for near in get_close_matches(bare, by_spelling, n=1)), "")


def single_braces(content: Content) -> list[str]:
    """What was perhaps meant as a variable, but is sent literally: { first_name }."""
    pattern = re.compile(r"(?<![{%])\{\s*[A-Za-z_]\w*\s*\}(?!\})")
    return sorted({match for source in _sources(content) for match in pattern.findall(source)})


def _sources(content: Content) -> set[str]:
    return set().union(*_readings(content))


def _readings(content: Content) -> Iterator[set[str]]:
    """Yield the texts of each language on each platform."""
    for language in ["", *languages_of(content)]:
        for platform in PLATFORMS:
            yield {*_texts(on_platform(content, language, platform))}


def _texts(value: Any) -> Iterator[str]:
    """Yield every text inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def needed(content: Content) -> list[liquid.Path]:
    """The values without which people are skipped, in any language and on any platform."""
    return sorted(_needed(_sources(content)), key=str)


def needed_by(content: Content, locale: str, platform: str) -> Set[liquid.Path]:
    """The values without which people of one language on one platform are skipped."""
    return _needed(set(_texts(on_platform(content, locale, platform))))


def depends(content: Content) -> bool:
    """Whether a condition may decide what the text needs: {% if vip %}{{ city }}{% endif %}.

    What it needs then differs from person to person.
    """
    return any("{%" in source and needed_by_text(source) for source in _sources(content))


def _needed(sources: Set[str]) -> Set[liquid.Path]:
    try:
        return set().union(*map(needed_by_text, sources))
    except LiquidError:
        return set()


def needed_by_text(source: str) -> set[liquid.Path]:
    """The values without which this text skips people. Lack of others only changes its words."""
    paths = liquid.paths(source)
    if not paths or not _renders(source):
        return set()
    return {path for path in paths if not _renders(source, without=path)}


def _renders(source: str, *, without: liquid.Path = ()) -> bool:
    person = _MadeUpPerson(liquid.paths(source), without)
    try:
        liquid.parse(source).render(**person.values())
    except Exception:  # whatever Liquid or a filter raises, the person would be skipped
        return False
    return True


@dataclass(frozen=True)
class _MadeUpPerson:
    """A made-up person who has every value that a text uses, except one."""

    used_paths: Set[liquid.Path]
    without: liquid.Path

    def values(self) -> dict[str, Any]:
        heads = {path[:1] for path in self.used_paths} - {self.without}
        return {str(head[0]): self.value(head) for head in heads}

    def value(self, path: liquid.Path) -> Any:
        size = len(path)
        holds = any(len(used) > size and used[:size] == path for used in self.used_paths)
        return _Holder(self, path) if holds else _Text(self, path)

    def inner(self, path: liquid.Path, key: Any) -> Any:
        inner = (*path, key)
        if inner == self.without or not isinstance(key, str | int):
            raise KeyError(key)
        return self.value(inner)


class _Holder(dict[Any, Any]):
    def __init__(self, person: _MadeUpPerson, path: liquid.Path) -> None:
        super().__init__({"1": "1"})
        self._look = partial(person.inner, path)

    def __missing__(self, key: Any) -> Any:
        return self._look(key)


class _Text(str):
    """A made-up text. It is also a list, for texts that use its first item or a computed index."""

    def __new__(cls, person: _MadeUpPerson, path: liquid.Path) -> _Text:
        text = super().__new__(cls, "1")
        text._look = partial(person.inner, path)
        return text

    _look: Callable[[Any], Any]

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if isinstance(key, slice) else self._look(key)


def missing(names: list[str], project: Project) -> tuple[int, list[int]]:
    """How many of the newest people were checked, and how many of them lack each value."""
    values = [OWN.get(name, "c.attributes ->> %s") for name in names]
    attributes = [name for name in names if name not in OWN]
    columns = ", ".join(f"count(*) FILTER (WHERE COALESCE({value}, '') = '')" for value in values)
    with suppress(TooSlow), statement_timeout(seconds=1), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*), {columns} FROM (SELECT * FROM notifications_contact"
            " WHERE project_id = %s ORDER BY id DESC LIMIT %s) c",
            [*attributes, project.pk, PEOPLE_READ],
        )
        total, *lacking = cursor.fetchone()
        return total, lacking
    return 0, [0] * len(names)
