"""Sheets: the text for one language on one platform, and the values that it needs of its readers.

A million people read a handful of sheets. The needs of each are computed once here, as numbers with
which PostgreSQL can judge everybody. They say how often a value occurs in the title, in the body
and in the whole message, and how much room is left for values before something is cut off.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from campaigns.audiences.behavior.kind import Sql
from campaigns.texts import liquid, preview
from campaigns.texts.caps import texts_in
from campaigns.texts.content import Content, is_personal, on_platform, text_for
from campaigns.texts.liquid import Path
from campaigns.texts.rendering import Reader, Renderer, Unrenderable
from notifications.fcm import payload, sizes
from notifications.fcm.options import PLATFORMS
from notifications.fcm.visible_length import ROOMS
from notifications.gateway import Push
from notifications.people.contact import Contact
from notifications.people.project import Project

MAX_VARIABLES = 50  # each is looked at for everybody
NO_LIMIT = 2**31 - 1
ELSEWHERE = "*"  # stands for languages beyond those that are counted one by one
# Longer titles and bodies are cut off, even for people who open the push.
CUT_OFF = {name: (room["title"].opened, room["body"].opened) for name, room in ROOMS.items()}
# Letters as wide as two others: Korean, Chinese, Japanese, and emoji.
WIDE = (
    r"\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
    r"\uffe0-\uffe6\U0001f300-\U0001faff"
)
_wide = re.compile(f"[{WIDE}]")
_filtered = re.compile(r"\{%|\{\{[^}]*\|")
MEASURES = ("title", "body", "bytes")


def width(text: str) -> int:
    """Return the width of the text in narrow letters."""
    return len(text) + (0 if text.isascii() else len(_wide.findall(text)))


def measured(message: Push) -> tuple[int, int, int]:
    """Return the size of title and body in narrow letters, and of the whole message in bytes."""
    size = max(sizes.measure(payload.as_fcm(message)).values())
    return width(message.title), width(message.body), size


@dataclass(frozen=True)
class Variable:
    """A value that a text uses, and how PostgreSQL finds it for the person `c`."""

    path: Path

    @property
    def name(self) -> str:
        return liquid.written(self.path)

    @property
    def value(self) -> Sql:
        """SQL for the value as text; NULL if it is not there."""
        if own := preview.OWN.get(str(self.path[0])):
            return Sql(own)
        if len(self.path) == 1:
            return Sql("c.attributes ->> %s", [self.path[0]])
        return Sql("c.attributes #>> %s::text[]", [self._steps])

    @property
    def is_object(self) -> Sql:
        if str(self.path[0]) in preview.OWN:
            return Sql("FALSE")
        return Sql("jsonb_typeof(c.attributes #> %s::text[]) = 'object'", [self._steps])

    @property
    def is_void(self) -> Sql:
        """SQL for whether it is there but empty: null inside another value is not missing."""
        if len(self.path) == 1:
            return Sql("FALSE")
        return Sql("(c.attributes #> %s::text[]) IS NOT NULL", [self._steps])

    @property
    def _steps(self) -> list[str]:
        return [str(step) for step in self.path]


@dataclass(frozen=True)
class Sheet:
    """One text on one platform. For each variable, in order: whether the text uses it, whether the
    message needs it, and how often it occurs in each of MEASURES."""

    number: int
    text: str  # the template's language whose text it is; empty: the main text
    platform: str
    uses: tuple[bool, ...]
    needed: tuple[bool, ...]
    often: Mapping[str, tuple[int, ...]]
    room: Mapping[str, int]  # for all values together, until it is cut off or too large
    exact: bool  # False: a filter or a condition changes values unpredictably


class Printer:
    """Renders messages as a launch would: with what the project adds to each, and the longest
    reference that a device may have."""

    def __init__(self, content: Content, project: Project, *, label: str, run: int) -> None:
        self.counts_links = bool(project.counts_links)
        self._reference = f"{run}:{NO_LIMIT}"
        self._renderer = Renderer.for_project(
            project, content, collapse_id=f"carillon-{run}", analytics_label=label
        )

    def message(self, person: Contact, platform: str) -> Push:
        """Render the message for this person. Raises Unrenderable."""
        reader = Reader(
            reference=self._reference,
            external_id=person.external_id,
            attributes=person.attributes,
            locale=person.locale,
            timezone=person.timezone,
            kind="token",
            address="somebody",
            platform=platform,
        )
        return self._renderer.render(reader, ttl_seconds=60)


class Sheets:
    """All sheets of one content, for these languages."""

    def __init__(self, content: Content, locales: Sequence[str], printer: Printer) -> None:
        self._content, self.printer = content, printer
        # The sheets of the main text have the numbers 0, 1 and 2, in the order of the platforms.
        pairs = [(locale, platform) for locale in ("", *locales) for platform in PLATFORMS]
        self._numbers: dict[str, int] = {}
        self._first: list[tuple[str, str]] = []
        self.of: dict[tuple[str, str], int] = {}
        for locale, platform in pairs:
            self.of[locale, platform] = self._assign_number(locale, platform)

    def _assign_number(self, locale: str, platform: str) -> int:
        written = on_platform(self._content, locale, platform)
        mark = f"{platform} {text_for(self._content, locale)} {written!r}"
        if mark not in self._numbers:
            self._numbers[mark] = len(self._first)
            self._first.append((locale, platform))
        return self._numbers[mark]

    def number_of(self, locale: str, platform: str) -> int:
        """Return the number of the sheet for these readers. A language that is not counted by
        itself gets the main text."""
        return self.of.get((locale, platform), self.of["", platform])

    def of_reader(self, locale: str, platform: str) -> Sheet:
        return self.all[self.number_of(locale, platform)]

    @cached_property
    def variables(self) -> list[Variable]:
        return [Variable(path) for path in self._paths[:MAX_VARIABLES]]

    @property
    def left_out(self) -> list[str]:
        """The names of the variables beyond those that are looked at."""
        return [liquid.written(path) for path in self._paths[MAX_VARIABLES:]]

    @cached_property
    def _paths(self) -> list[Path]:
        counted = Counter(
            path
            for locale, platform in self._first
            for source in self._sources(locale, platform)
            for path in liquid.paths(source)
        )
        return sorted(counted, key=lambda path: (-counted[path], liquid.written(path)))

    @cached_property
    def all(self) -> list[Sheet]:
        return [self._sheet(number) for number in range(len(self._first))]

    def _sources(self, locale: str, platform: str) -> list[str]:
        written = on_platform(self._content, locale, platform)
        return [source for source in texts_in(written) if is_personal(source)]

    def _sheet(self, number: int) -> Sheet:
        locale, platform = self._first[number]
        written = on_platform(self._content, locale, platform)
        sources = self._sources(locale, platform)
        sources_by_measure = {
            "title": [written["title"]],
            "body": [written["body"]],
            "bytes": sources,
        }
        often = {name: self._count_uses(texts) for name, texts in sources_by_measure.items()}
        used_paths = {path for source in sources for path in liquid.paths(source)}
        needed = preview.needed_by(self._content, locale, platform)
        room_taken = self._measure_words(locale, platform, often, used_paths)
        title, body = CUT_OFF[platform]
        most = {"title": title, "body": body, "bytes": sizes.MAX_BYTES}
        return Sheet(
            number,
            text_for(self._content, locale),
            platform,
            uses=tuple(variable.path in used_paths for variable in self.variables),
            needed=tuple(variable.path in needed for variable in self.variables),
            often=often,
            room={
                name: most[name] - room_taken[name] if room_taken else NO_LIMIT for name in MEASURES
            },
            exact=bool(room_taken) and self._is_plain(written, platform),
        )

    def _is_plain(self, written: Mapping[str, Any], platform: str) -> bool:
        """Whether a message is as long as its words and its values together, for everybody."""
        options = written["options"]
        # On iOS, an image is not part of what Apple counts.
        elsewhere = is_personal(options) or (platform == "ios" and is_personal(written["image"]))
        led_through_us = self.printer.counts_links and is_personal(written["link"])
        sources = [source for source in texts_in(written) if is_personal(source)]
        filtered = any(_filtered.search(source) for source in sources)
        return not (filtered or elsewhere or options.get("data") or led_through_us)

    def _count_uses(self, sources: Iterable[str]) -> tuple[int, ...]:
        counted = Counter(
            path
            for source in sources
            if is_personal(source)
            for path, _ in liquid.list_uses(source)
        )
        return tuple(counted[variable.path] for variable in self.variables)

    def _measure_words(
        self,
        locale: str,
        platform: str,
        often: Mapping[str, tuple[int, ...]],
        used_paths: set[Path],
    ) -> dict[str, int]:
        """Return how much room the words between the values take, measured with a made-up person
        whose every value is one letter. Empty if no such person can be made up."""
        person = Contact(
            external_id="1", attributes=_made_up(used_paths), locale=locale, timezone="1"
        )
        try:
            message = self.printer.message(person, platform)
        except Unrenderable:
            return {}
        lengths = dict(zip(MEASURES, measured(message), strict=True))
        # A language is the only value that was not one letter.
        own = [len(locale) if variable.path == ("locale",) else 1 for variable in self.variables]
        values = {
            name: sum(n * size for n, size in zip(often[name], own, strict=True))
            for name in MEASURES
        }
        return {name: lengths[name] - values[name] for name in MEASURES}


def _made_up(paths: Iterable[Path]) -> dict[str, Any]:
    """Return attributes of a made-up person with all these values, except places in a list."""
    person: dict[str, Any] = {}
    for path in sorted(paths, key=len):
        inside = person
        for step in path[:-1]:
            inner = inside.setdefault(str(step), {})
            if not isinstance(inner, dict):
                break
            inside = inner
        else:
            inside.setdefault(str(path[-1]), "1")
    return person
