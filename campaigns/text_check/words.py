"""Words: the findings of a text check in the reader's language, with the ids of a few people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.runs.reasons import in_words as reason_in_words
from campaigns.text_check.model import TextCheck
from campaigns.text_check.report import Code, Finding, Level
from campaigns.text_check.text_needs import ELSEWHERE
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
    findings: list[Finding] = (check.report or {}).get("findings", [])
    names = named(check)
    return [
        FindingInWords(
            code=finding["code"],
            level=finding["level"],
            words=in_words(finding),
            devices=finding["devices"],
            exact=finding["exact"],
            text=finding["text"],
            platform=finding["platform"],
            variable=finding["variable"],
            people=[names[pk] for pk in finding["people"] if pk in names],
        )
        for finding in findings
    ]


def named(check: TextCheck) -> dict[int, str]:
    """Return the external ids of all people in the report, by number."""
    report = check.report or {}
    numbers = {pk for finding in report.get("findings", []) for pk in finding["people"]}
    for text in report.get("texts", []):
        for platform in text["platforms"]:
            numbers |= {length[1] for length in platform["longest"].values() if length}
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
    more_words = ngettext("%(count)s more language", "%(count)s more languages", more)
    return f"{named}, {more_words % {'count': f'{more:,}'}}"


# --- Each kind ------------------------------------------------------------------------------------


def _devices_in_words(finding: Finding) -> str:
    text = ngettext("%(count)s device", "%(count)s devices", finding["devices"])
    count = f"{finding['devices']:,}"
    return text % {
        "count": count if finding["exact"] else _("about %(number)s") % {"number": count}
    }


def _describe_missing(finding: Finding) -> str:
    if finding["skips"]:
        text = _("“{{ %(name)s }}” is missing: %(devices)s will be skipped.")
        if finding["code"] == Code.EMPTY:
            text = _("“{{ %(name)s }}” is empty: %(devices)s will be skipped.")
    else:
        text = _("“{{ %(name)s }}” is missing: %(devices)s get the text without it.")
        if finding["code"] == Code.EMPTY:
            text = _("“{{ %(name)s }}” is empty: %(devices)s get the text without it.")
    return text % {"name": finding["variable"], "devices": _devices_in_words(finding)}


ODD_VALUES = {
    Code.BLANK: gettext_lazy("holds spaces only"),
    Code.OBJECT: gettext_lazy("holds several values, which no text can say as a whole"),
    Code.MARKUP: gettext_lazy("holds HTML, which a phone shows as it is written"),
    Code.PLACEHOLDER: gettext_lazy("holds a word such as “null” or “test”"),
    Code.LONG: gettext_lazy("is unusually long"),
    Code.PAST: gettext_lazy("is a date that has passed"),
}


def _odd_value(finding: Finding) -> str:
    text = _("“{{ %(name)s }}” %(is)s: %(devices)s.")
    is_odd = ODD_VALUES[Code(finding["code"])]
    return text % {"name": finding["variable"], "is": is_odd, "devices": _devices_in_words(finding)}


def _no_text(finding: Finding) -> str:
    named = languages(finding["locales"], finding["more_locales"])
    text = _("%(devices)s read the main text, as there is none in their language: %(languages)s.")
    return text % {"devices": _devices_in_words(finding), "languages": named}


def _describe_cut(finding: Finding) -> str:
    text = _(
        "Even opened, the title is cut off for %(devices)s. The longest (%(where)s) is as wide "
        "as %(size)s letters, and about %(most)s are shown."
    )
    if finding["code"] == Code.BODY_CUT:
        text = _(
            "Even opened, the body is cut off for %(devices)s. The longest (%(where)s) is as wide "
            "as %(size)s letters, and about %(most)s are shown."
        )
    numbers = {"size": f"{finding['size']:,}", "most": finding["most"]}
    return text % {
        "devices": _devices_in_words(finding),
        "where": _text_and_platform(finding),
        **numbers,
    }


def _too_large(finding: Finding) -> str:
    text = _("The message is over FCM's 4,096 bytes for %(devices)s (%(where)s): FCM refuses it.")
    return text % {"devices": _devices_in_words(finding), "where": _text_and_platform(finding)}


def _describe_refused(finding: Finding) -> str:
    text = _("Somebody with long values would get nothing (%(where)s): %(why)s.")
    return text % {"where": _text_and_platform(finding), "why": reason_in_words(finding["reason"])}


def _text_and_platform(finding: Finding) -> str:
    return f"{text_named(finding['text'])}, {Device.Platform(finding['platform']).label}"


def _reserved_key(finding: Finding) -> str:
    text = _("The data “%(key)s” is lost: this key is already in use. Choose another.")
    if finding["platform"]:
        text = _(
            "The data “%(key)s” is lost on %(platform)s: this key is already in use. Choose "
            "another."
        )
        return text % {
            "key": finding["key"],
            "platform": Device.Platform(finding["platform"]).label,
        }
    return text % {"key": finding["key"]}


def _dead_link(finding: Finding) -> str:
    text = _("%(url)s leads nowhere: its host answers %(status)s.")
    return text % {"url": finding["url"], "status": finding["status"]}


def _link_trouble(finding: Finding) -> str:
    why = (
        str(Call.Error(finding["error"]).label) if finding["error"] else f"HTTP {finding['status']}"
    )
    return _("%(url)s could not be opened: %(why)s.") % {
        "url": finding["url"],
        "why": why.rstrip("."),
    }


def _describe_sent_before(finding: Finding) -> str:
    numbers = ", ".join(str(run) for run in finding["runs"])
    text = ngettext(
        "%(devices)s are of people who were sent the same text within %(days)s day (run %(runs)s).",
        "%(devices)s are of people who were sent the same text within %(days)s days (run "
        "%(runs)s).",
        finding["days"],
    )
    return text % {"devices": _devices_in_words(finding), "days": finding["days"], "runs": numbers}


def _not_looked_at(finding: Finding) -> str:
    text = _("So many variables are not looked at; left out: %(names)s.")
    return text % {"names": ", ".join(finding["variables"])}


WORDS: dict[Code, Callable[[dict[str, Any]], str]] = {
    **dict.fromkeys((Code.MISSING, Code.EMPTY), _describe_missing),
    **dict.fromkeys(ODD_VALUES, _odd_value),
    Code.NO_TEXT: _no_text,
    **dict.fromkeys((Code.TITLE_CUT, Code.BODY_CUT), _describe_cut),
    Code.TOO_LARGE: _too_large,
    Code.REFUSED: _describe_refused,
    Code.RESERVED_KEY: _reserved_key,
    Code.DEAD_LINK: _dead_link,
    Code.LINK_TROUBLE: _link_trouble,
    Code.SAID_BEFORE: _describe_sent_before,
    Code.NOT_LOOKED_AT: _not_looked_at,
}
