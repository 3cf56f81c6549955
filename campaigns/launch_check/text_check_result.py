"""Texts checked: what the last complete text check found, and whether it still holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _

from campaigns.planning.campaign import Campaign
from campaigns.runs.variants.group import in_words
from campaigns.text_check import stale, words
from campaigns.text_check.model import TextCheck, newest_whole
from campaigns.text_check.report import Level
from campaigns.text_check.stale import Stale
from campaigns.text_check.words import FindingInWords
from notifications.fcm.sizes import MAX_BYTES
from notifications.fcm.visible_length import ROOMS, Room
from notifications.people.device import Device


@dataclass(frozen=True)
class Longest:
    """The longest text of its kind: `size` of at most `most`. None: nobody gets it. `at_once`: how
    much a phone shows before a person opens the push; `shows_more`: what it shows then, in words.
    """

    size: int | None
    most: int
    at_once: int
    shows_more: str
    person: str = ""
    over: int = 0  # devices

    @property
    def is_over(self) -> bool:
        return (self.size or 0) > self.most


@dataclass(frozen=True)
class Readers:
    """The readers of one text, in devices, and what happens to them."""

    text: str
    languages: str
    totals: dict[str, int]


@dataclass(frozen=True)
class Line:
    """One text on one platform: its readers, and its longest parts, each with the person."""

    text: str
    platform: str
    devices: int
    title: Longest
    body: Longest
    bytes: Longest
    exact: bool


@dataclass(frozen=True)
class TextsChecked:
    """A complete text check, as of now."""

    check: TextCheck
    stale: list[Stale]

    @property
    def variant(self) -> str:
        return in_words(self.check.variant)

    @cached_property
    def findings(self) -> list[FindingInWords]:
        return words.describe_findings(self.check)

    @property
    def totals(self) -> dict[str, int]:
        return dict(self._report["totals"])

    @property
    def exact(self) -> bool:
        """Whether the counts are exact. False if a condition in the text decides for each person
        what it needs."""
        return bool(self._report["exact"])

    @property
    def by_level(self) -> list[tuple[str, list[FindingInWords]]]:
        labelled = [
            (str(label), [finding for finding in self.findings if finding.level == level])
            for level, label in words.LEVELS.items()
        ]
        return [(label, findings) for label, findings in labelled if findings]

    @property
    def is_wrong(self) -> bool:
        return any(finding.level == Level.WRONG for finding in self.findings)

    @property
    def in_short(self) -> str:
        """A short summary, such as “2 to mend, 1 to look at”."""
        count = Counter(finding.level for finding in self.findings)
        parts = [
            (count[Level.WRONG], _("%(count)s to mend")),
            (count[Level.ODD], _("%(count)s to look at")),
        ]
        phrases = [phrase % {"count": f"{number:,}"} for number, phrase in parts if number]
        return ", ".join(phrases) or _("nothing to mend")

    @property
    def texts(self) -> list[Readers]:
        return [
            Readers(
                words.text_named(text["text"]),
                words.languages(text["locales"], text["more_locales"]),
                {name: text[name] for name in self.totals},
            )
            for text in self._report["texts"]
        ]

    @property
    def lines(self) -> list[Line]:
        return list(self._iter_lines())

    @property
    def links_untried(self) -> int:
        return int(self._report["links_untried"] or 0)

    @property
    def _report(self) -> dict[str, Any]:
        return dict(self.check.report or {})

    def _iter_lines(self) -> Iterator[Line]:
        names = words.named(self.check)
        for text in self._report["texts"]:
            for platform in text["platforms"]:
                most = {**platform["shows"], "bytes": MAX_BYTES}
                over = {"title": "title_cut", "body": "body_cut", "bytes": "too_large"}
                rooms = {**ROOMS[platform["platform"]], "bytes": Room(MAX_BYTES, MAX_BYTES)}
                lengths = {
                    name: _build_longest(
                        platform["longest"][name],
                        (most[name], rooms[name]),
                        names,
                        platform[over[name]],
                    )
                    for name in over
                }
                yield Line(
                    words.text_named(text["text"]),
                    str(Device.Platform(platform["platform"]).label),
                    platform["devices"],
                    exact=platform["exact"],
                    **lengths,
                )


def _build_longest(
    longest: list[int] | None, most: tuple[int, Room], names: dict[int, str], over: int
) -> Longest:
    opened, room = most
    shows = opened, room.closed, room.shows_more
    if not longest:
        return Longest(None, *shows, over=over)
    return Longest(longest[0], *shows, names.get(longest[1], ""), over)


def check_texts(
    campaign: Campaign, now: datetime, *, devices: int | None = None
) -> dict[int, TextsChecked]:
    """Return the last complete check of each text that has one, by variant. `devices`: how many it
    would reach, if counted."""
    return {
        number: TextsChecked(check, stale.reasons(check, campaign, now=now, devices=devices))
        for number, check in newest_whole(campaign).items()
    }
