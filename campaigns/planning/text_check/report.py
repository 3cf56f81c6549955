"""The report: the findings of a text check from its tally, longest texts and links, as the row
keeps them.

It has codes, counts, and the numbers of a few people. `words.py` puts it into words for its reader.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from campaigns.planning.text_check import links
from campaigns.planning.text_check import tally as tallies
from campaigns.planning.text_check.counting import ODD
from campaigns.planning.text_check.sheets import CUT_OFF, MEASURES, Sheet, Sheets
from campaigns.planning.text_check.tally import EXAMPLES, Group
from campaigns.planning.text_check.text_check import TextCheck
from campaigns.runs.reasons import Reason
from campaigns.texts import preview
from campaigns.texts.content import languages_of, on_platform
from notifications.fcm.options import PLATFORMS
from notifications.fcm.payload import LINK_KEY

LOCALES = 20  # named for a text; the rest is only counted
OUT = ("unsubscribed", "suppressed")
APPLES = "aps"
TEXTS = {"title", "body", "image"}


class Level(StrEnum):
    """How much a finding matters."""

    WRONG = "wrong"  # a person gets nothing, or nothing useful
    ODD = "odd"
    NOTE = "note"


class Code(StrEnum):
    """The finding's name in the API."""

    MISSING = "missing"  # a value is not there
    EMPTY = "empty"
    BLANK = "blank"  # spaces only
    OBJECT = "object"  # it holds several values, and the text uses it as a whole
    MARKUP = "markup"
    PLACEHOLDER = "placeholder"  # “null”, “test”
    LONG = "long"
    PAST = "past"  # a date that has passed
    NO_TEXT = "no_text"  # there is no text in their language
    TITLE_CUT = "title_cut"
    BODY_CUT = "body_cut"
    TOO_LARGE = "too_large"
    REFUSED = "refused"
    RESERVED_KEY = "reserved_key"  # the data under it is lost
    DEAD_LINK = "dead_link"
    LINK_TROUBLE = "link_trouble"
    SAID_BEFORE = "said_before"
    NOT_LOOKED_AT = "not_looked_at"


WRONG = (Code.OBJECT, Code.TOO_LARGE, Code.REFUSED, Code.RESERVED_KEY, Code.DEAD_LINK)
NOTES = (Code.NO_TEXT, Code.NOT_LOOKED_AT)
LACKING = (Code.MISSING, Code.EMPTY)
CUTS = ((Code.TITLE_CUT, "title"), (Code.BODY_CUT, "body"))
Finding = dict[str, Any]


def build_report(check: TextCheck, sheets: Sheets, looked: dict[str, Any]) -> dict[str, Any]:
    """Build the report of a check whose devices are all counted."""
    groups = list(tallies.groups(check.tally))
    texts = _texts(groups, sheets, looked["longest"])
    found = [
        *_of_values(check, sheets),
        *_of_sizes(texts),
        *_refused(looked["refused"], texts),
        *_of_keys(check),
        *_of_links(check),
        *_of_languages(groups, sheets),
        *_said_before(check, groups),
        *_not_looked_at(sheets),
    ]
    rank = list(Level)
    return {
        "totals": _totals(groups),
        "exact": not preview.depends(check.content),
        "texts": texts,
        "findings": sorted(found, key=lambda one: (rank.index(one["level"]), -one["devices"])),
        "links": check.links,
        "links_untried": links.untried(check.content, check.project) if check.tries_links else None,
    }


def _finding(code: Code, **said: Any) -> Finding:
    level = Level.WRONG if code in WRONG else Level.NOTE if code in NOTES else Level.ODD
    empty: Finding = {"devices": 0, "exact": True, "people": [], "text": None, "platform": ""}
    return {"code": code, "level": level, **empty, "variable": "", **said}


# --- In all, and by text --------------------------------------------------------------------------


def _totals(groups: list[Group]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for group in groups:
        sums.update(group.sums)
    out = sum(sums[name] for name in OUT)
    return {
        "devices": sums["devices"],
        "out": out,
        "skipped": sums["skipped"],
        "sent_to": sums["devices"] - out - sums["skipped"],
        "with_default": sums["lacking"],
    }


def _texts(groups: list[Group], sheets: Sheets, longest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the figures of each text of the template, those with the most readers first."""
    of_text: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        of_text[_sheet(group, sheets).text].append(group)
    found = [_text(text, held, sheets, longest) for text, held in of_text.items()]
    return sorted(found, key=lambda one: -one["devices"])


def _text(
    text: str, groups: list[Group], sheets: Sheets, longest: dict[str, Any]
) -> dict[str, Any]:
    by_locale: Counter[str] = Counter()
    for group in groups:
        by_locale[group.locale] += group.sums["devices"]
    return {
        "text": text,
        **_totals(groups),
        "locales": by_locale.most_common(LOCALES),
        "more_locales": max(0, len(by_locale) - LOCALES),
        "platforms": [
            _platform(platform, mine, sheets, longest.get(f"{text}|{platform}", {}))
            for platform in PLATFORMS
            if (mine := [one for one in groups if one.platform == platform])
        ],
    }


def _platform(
    platform: str, groups: list[Group], sheets: Sheets, longest: dict[str, Any]
) -> dict[str, Any]:
    counts = {
        name: sum(one.sums[name] for one in groups)
        for name in ("title_cut", "body_cut", "too_large")
    }
    title, body = CUT_OFF[platform]
    return {
        "platform": platform,
        "devices": sum(one.sums["devices"] for one in groups),
        "exact": all(_sheet(one, sheets).exact for one in groups),
        "shows": {"title": title, "body": body},
        "longest": {name: longest.get(name) for name in MEASURES},
        **counts,
    }


def _sheet(group: Group, sheets: Sheets) -> Sheet:
    return sheets.of_reader(group.locale, group.platform)


# --- What was found -------------------------------------------------------------------------------


def _of_values(check: TextCheck, sheets: Sheets) -> Iterator[Finding]:
    """Yield findings by variable and kind; missing values also by whether they skip devices."""
    found: dict[tuple[int, str, bool], Finding] = {}
    for one in tallies.oddities(check.tally):
        sheet, code = sheets.of_reader(one.locale, one.platform), Code(ODD[one.letter])
        variable = sheets.variables[one.variable]
        needs = sheet.needed[one.variable] and (code == Code.MISSING or len(variable.path) == 1)
        skips = code in LACKING and needs
        new = _finding(code, variable=variable.name, skips=skips, texts=[])
        held = found.setdefault((one.variable, one.letter, skips), new)
        held["devices"] += one.devices
        held["people"] = list(dict.fromkeys([*held["people"], *one.people]))[:EXAMPLES]
        held["texts"] = sorted({*held["texts"], sheet.text})
        if code in LACKING:
            held["level"] = Level.WRONG if skips else Level.NOTE
    yield from found.values()


def _of_sizes(texts: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield one finding for each part that is cut off, with its worst case; the texts have the
    rest. Then yield messages that are too large."""
    each = [(text["text"], one) for text in texts for one in text["platforms"]]
    for code, name in CUTS:
        over = [(text, one) for text, one in each if _over(one, name) > 0]
        if over:
            text, worst = max(over, key=lambda pair: _over(pair[1], name))
            size, person = worst["longest"][name]
            yield _finding(
                code,
                devices=sum(max(one[f"{name}_cut"], 1) for _, one in over),
                exact=all(one["exact"] for _, one in over),
                text=text,
                platform=worst["platform"],
                size=size,
                most=worst["shows"][name],
                people=[person],
            )
    for text, one in each:
        if one["too_large"]:
            where = {"text": text, "platform": one["platform"], "exact": one["exact"]}
            yield _finding(Code.TOO_LARGE, **where, devices=one["too_large"])


def _over(platform: dict[str, Any], name: str) -> int:
    """Return by how much the longest text exceeds what a phone shows."""
    size, *_ = platform["longest"][name] or [0]
    return int(size) - int(platform["shows"][name])


def _refused(refused: list[dict[str, Any]], texts: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield findings for the rendered people whose text cannot be rendered, or that FCM refuses.
    Messages that are too large are left out where they were counted before."""
    counted = {
        (text["text"], one["platform"])
        for text in texts
        for one in text["platforms"]
        if one["too_large"]
    }
    for one in refused:
        where = {"text": one["text"], "platform": one["platform"]}
        of_a_few = {"devices": 1, "exact": False, "people": [one["person"]]}
        if one["reason"] != Reason.TOO_LONG:
            yield _finding(Code.REFUSED, **where, **of_a_few, reason=one["reason"])
        elif (one["text"], one["platform"]) not in counted:
            yield _finding(Code.TOO_LARGE, **where, **of_a_few)


def _of_keys(check: TextCheck) -> Iterator[Finding]:
    """Yield data keys whose values never arrive as written. Keys that FCM itself reserves are
    refused when a template is saved, and before a check."""
    found: dict[tuple[str, str], Finding] = {}
    for tag in ("", *languages_of(check.content)):
        for platform in PLATFORMS:
            sheet = on_platform(check.content, tag, platform)
            for key in _written_over(sheet, platform).intersection(sheet["data"]):
                where = "" if key == LINK_KEY else platform
                found[key, where] = _finding(Code.RESERVED_KEY, key=key, platform=where)
    yield from found.values()


def _written_over(sheet: dict[str, Any], platform: str) -> set[str]:
    """Return the keys that are overwritten: by the template's link, by Apple's own values, or by
    title and body in a data-only message."""
    taken = {LINK_KEY} if sheet["link"] else set()
    taken |= {APPLES} if platform == "ios" else set()
    return taken | (TEXTS if sheet["options"].get("data_only") else set())


def _of_links(check: TextCheck) -> Iterator[Finding]:
    for one in check.links:
        if links.is_dead(one):
            yield _finding(Code.DEAD_LINK, **one)
        elif links.is_in_trouble(one):
            yield _finding(Code.LINK_TROUBLE, **one)


def _of_languages(groups: list[Group], sheets: Sheets) -> Iterator[Finding]:
    """Yield who reads the main text, if the template has texts for other languages."""
    if not any(sheet.text for sheet in sheets.all):
        return
    readers: Counter[str] = Counter()
    for group in groups:
        if not _sheet(group, sheets).text:
            readers[group.locale] += group.sums["devices"]
    if readers:
        yield _finding(
            Code.NO_TEXT,
            devices=readers.total(),
            text="",
            locales=readers.most_common(LOCALES),
            more_locales=max(0, len(readers) - LOCALES),
        )


def _said_before(check: TextCheck, groups: list[Group]) -> Iterator[Finding]:
    if devices := sum(group.sums["again"] for group in groups):
        runs = sorted({run for run, _ in (check.plan or {})["same"]}, reverse=True)
        yield _finding(Code.SAID_BEFORE, devices=devices, runs=runs, days=check.days)


def _not_looked_at(sheets: Sheets) -> Iterator[Finding]:
    if sheets.left_out:
        yield _finding(Code.NOT_LOOKED_AT, variables=sheets.left_out[:LOCALES])
