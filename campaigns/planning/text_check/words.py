"""Words: the findings of a text check in the reader's language, with the ids of a few people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.planning.text_check.report import Code, Finding, Level
from campaigns.planning.text_check.sheets import ELSEWHERE
from campaigns.planning.text_check.text_check import TextCheck
from campaigns.runs.reasons import in_words as reason_in_words
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.webhooks.call import Call


@dataclass(frozen=True)
class FindingInWords:
    """One finding in words, ready for a page or the API."""

    code: str
    level: str
    words: str
    devices: int
    exact: bool
    text: str | None
    platform: str
    variable: str
    people: list[str]  # external ids

    def __str__(self) -> str:
        return self.words

    @property
    def level_label(self) -> str:
        return str(LEVELS[Level(self.level)])


LEVELS = {
    Level.WRONG: gettext_lazy("To mend"),
    Level.ODD: gettext_lazy("To look at"),
    Level.NOTE: gettext_lazy("To know"),
}


def describe_findings(check: TextCheck) -> list[FindingInWords]:
    """Return the findings in words; none if the check is not complete. People who were erased
    meanwhile are not named."""
    found: list[Finding] = (check.report or {}).get("findings", [])
    names = named(check)
    return [
        FindingInWords(
            code=one["code"],
            level=one["level"],
            words=in_words(one),
            devices=one["devices"],
            exact=one["exact"],
            text=one["text"],
            platform=one["platform"],
            variable=one["variable"],
            people=[names[pk] for pk in one["people"] if pk in names],
        )
        for one in found
    ]


def named(check: TextCheck) -> dict[int, str]:
    """Return the external ids of all people in the report, by number."""
    report = check.report or {}
    numbers = {pk for one in report.get("findings", []) for pk in one["people"]}
    for text in report.get("texts", []):
        for platform in text["platforms"]:
            numbers |= {held[1] for held in platform["longest"].values() if held}
    mine = Contact.objects.filter(project=check.project_id, pk__in=numbers)
    return dict(mine.values_list("pk", "external_id"))


def in_words(one: Finding) -> str:
    return WORDS[Code(one["code"])](one)


def text_named(tag: str) -> str:
    return tag or _("the main text")


def locale_named(locale: str) -> str:
    if locale == ELSEWHERE:
        return _("other languages")
    return locale or _("no language")


def languages(counted: list[list[Any]], more: int) -> str:
    """Return “fr (1,200), de (30)”, with a note if there are more."""
    named = ", ".join(f"{locale_named(tag)} ({count:,})" for tag, count in counted)
    if not more:
        return named
    rest = ngettext("%(count)s more language", "%(count)s more languages", more)
    return f"{named}, {rest % {'count': f'{more:,}'}}"


# --- Each kind ------------------------------------------------------------------------------------


def _devices(one: Finding) -> str:
    text = ngettext("%(count)s device", "%(count)s devices", one["devices"])
    count = f"{one['devices']:,}"
    return text % {"count": count if one["exact"] else _("about %(number)s") % {"number": count}}


def _lacking(one: Finding) -> str:
    if one["skips"]:
        text = _("“{{ %(name)s }}” is missing: %(devices)s will be skipped.")
        if one["code"] == Code.EMPTY:
            text = _("“{{ %(name)s }}” is empty: %(devices)s will be skipped.")
    else:
        text = _("“{{ %(name)s }}” is missing: %(devices)s get the text without it.")
        if one["code"] == Code.EMPTY:
            text = _("“{{ %(name)s }}” is empty: %(devices)s get the text without it.")
    return text % {"name": one["variable"], "devices": _devices(one)}


ODD_VALUES = {
    Code.BLANK: gettext_lazy("holds spaces only"),
    Code.OBJECT: gettext_lazy("holds several values, which no text can say as a whole"),
    Code.MARKUP: gettext_lazy("holds HTML, which a phone shows as it is written"),
    Code.PLACEHOLDER: gettext_lazy("holds a word such as “null” or “test”"),
    Code.LONG: gettext_lazy("is unusually long"),
    Code.PAST: gettext_lazy("is a date that has passed"),
}


def _odd_value(one: Finding) -> str:
    text = _("“{{ %(name)s }}” %(is)s: %(devices)s.")
    is_odd = ODD_VALUES[Code(one["code"])]
    return text % {"name": one["variable"], "is": is_odd, "devices": _devices(one)}


def _no_text(one: Finding) -> str:
    named = languages(one["locales"], one["more_locales"])
    text = _("%(devices)s read the main text, as there is none in their language: %(languages)s.")
    return text % {"devices": _devices(one), "languages": named}


def _cut(one: Finding) -> str:
    text = _(
        "Even opened, the title is cut off for %(devices)s. The longest (%(where)s) is as wide "
        "as %(size)s letters, and about %(most)s are shown."
    )
    if one["code"] == Code.BODY_CUT:
        text = _(
            "Even opened, the body is cut off for %(devices)s. The longest (%(where)s) is as wide "
            "as %(size)s letters, and about %(most)s are shown."
        )
    numbers = {"size": f"{one['size']:,}", "most": one["most"]}
    return text % {"devices": _devices(one), "where": _where(one), **numbers}


def _too_large(one: Finding) -> str:
    text = _("The message is over FCM's 4,096 bytes for %(devices)s (%(where)s): FCM refuses it.")
    return text % {"devices": _devices(one), "where": _where(one)}


def _refused(one: Finding) -> str:
    text = _("Somebody with long values would get nothing (%(where)s): %(why)s.")
    return text % {"where": _where(one), "why": reason_in_words(one["reason"])}


def _where(one: Finding) -> str:
    return f"{text_named(one['text'])}, {Device.Platform(one['platform']).label}"


def _reserved_key(one: Finding) -> str:
    text = _("The data “%(key)s” is lost: this key is already in use. Choose another.")
    if one["platform"]:
        text = _(
            "The data “%(key)s” is lost on %(platform)s: this key is already in use. Choose "
            "another."
        )
        return text % {"key": one["key"], "platform": Device.Platform(one["platform"]).label}
    return text % {"key": one["key"]}


def _dead_link(one: Finding) -> str:
    text = _("%(url)s leads nowhere: its host answers %(status)s.")
    return text % {"url": one["url"], "status": one["status"]}


def _link_trouble(one: Finding) -> str:
    why = str(Call.Error(one["error"]).label) if one["error"] else f"HTTP {one['status']}"
    return _("%(url)s could not be opened: %(why)s.") % {"url": one["url"], "why": why.rstrip(".")}


def _said_before(one: Finding) -> str:
    numbers = ", ".join(str(run) for run in one["runs"])
    text = ngettext(
        "%(devices)s are of people who were sent the same text within %(days)s day (run %(runs)s).",
        "%(devices)s are of people who were sent the same text within %(days)s days (run "
        "%(runs)s).",
        one["days"],
    )
    return text % {"devices": _devices(one), "days": one["days"], "runs": numbers}


def _not_looked_at(one: Finding) -> str:
    text = _("So many variables are not looked at; left out: %(names)s.")
    return text % {"names": ", ".join(one["variables"])}


WORDS: dict[Code, Callable[[dict[str, Any]], str]] = {
    **dict.fromkeys((Code.MISSING, Code.EMPTY), _lacking),
    **dict.fromkeys(ODD_VALUES, _odd_value),
    Code.NO_TEXT: _no_text,
    **dict.fromkeys((Code.TITLE_CUT, Code.BODY_CUT), _cut),
    Code.TOO_LARGE: _too_large,
    Code.REFUSED: _refused,
    Code.RESERVED_KEY: _reserved_key,
    Code.DEAD_LINK: _dead_link,
    Code.LINK_TROUBLE: _link_trouble,
    Code.SAID_BEFORE: _said_before,
    Code.NOT_LOOKED_AT: _not_looked_at,
}
