"""The report: the findings of a text check from its tally, longest texts and links, as the row
keeps them.

It has codes, counts, and the numbers of a few people. `words.py` puts it into words for its reader.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from campaigns.runs.reasons import Reason
from campaigns.text_check import links
from campaigns.text_check import tally as tallies
from campaigns.text_check.counting import ODD
from campaigns.text_check.model import TextCheck
from campaigns.text_check.tally import EXAMPLES, Group
from campaigns.text_check.text_needs import CUT_OFF, MEASURES, Sheet, Sheets
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
    texts = _figures_by_text(groups, sheets, looked["longest"])
    findings = [
        *_of_values(check, sheets),
        *_of_sizes(texts),
        *_of_refused(looked["refused"], texts),
        *_of_keys(check),
        *_of_links(check),
        *_of_languages(groups, sheets),
        *_of_sent_before(check, groups),
        *_not_looked_at(sheets),
    ]
    rank = list(Level)
    return {
        "totals": _totals(groups),
        "exact": not preview.depends(check.content),
        "texts": texts,
        "findings": sorted(
            findings, key=lambda finding: (rank.index(finding["level"]), -finding["devices"])
        ),
        "links": check.links,
        "links_untried": links.untried(check.content, check.project) if check.tries_links else None,
    }


def _finding(code: Code, **details: Any) -> Finding:
    level = Level.WRONG if code in WRONG else Level.NOTE if code in NOTES else Level.ODD
    empty: Finding = {"devices": 0, "exact": True, "people": [], "text": None, "platform": ""}
    return {"code": code, "level": level, **empty, "variable": "", **details}


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


def _figures_by_text(
    groups: list[Group], sheets: Sheets, longest: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the figures of each text of the template, those with the most readers first."""
    of_text: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        of_text[_sheet(group, sheets).text].append(group)
    entries = [
        _text_figures(text, text_groups, sheets, longest) for text, text_groups in of_text.items()
    ]
    return sorted(entries, key=lambda entry: -entry["devices"])


def _text_figures(
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
            _platform_figures(platform, mine, sheets, longest.get(f"{text}|{platform}", {}))
            for platform in PLATFORMS
            if (mine := [group for group in groups if group.platform == platform])
        ],
    }


def _platform_figures(
    platform: str, groups: list[Group], sheets: Sheets, longest: dict[str, Any]
) -> dict[str, Any]:
    counts = {
        name: sum(group.sums[name] for group in groups)
        for name in ("title_cut", "body_cut", "too_large")
    }
    title, body = CUT_OFF[platform]
    return {
        "platform": platform,
        "devices": sum(group.sums["devices"] for group in groups),
        "exact": all(_sheet(group, sheets).exact for group in groups),
        "shows": {"title": title, "body": body},
        "longest": {name: longest.get(name) for name in MEASURES},
        **counts,
    }


def _sheet(group: Group, sheets: Sheets) -> Sheet:
    return sheets.of_reader(group.locale, group.platform)


# --- What was found -------------------------------------------------------------------------------


def _of_values(check: TextCheck, sheets: Sheets) -> Iterator[Finding]:
    """Yield findings by variable and kind; missing values also by whether they skip devices."""
    findings: dict[tuple[int, str, bool], Finding] = {}
    for oddity in tallies.oddities(check.tally):
        sheet, code = sheets.of_reader(oddity.locale, oddity.platform), Code(ODD[oddity.letter])
        variable = sheets.variables[oddity.variable]
        needs = sheet.needed[oddity.variable] and (code == Code.MISSING or len(variable.path) == 1)
        skips = code in LACKING and needs
        new = _finding(code, variable=variable.name, skips=skips, texts=[])
        finding = findings.setdefault((oddity.variable, oddity.letter, skips), new)
        finding["devices"] += oddity.devices
        finding["people"] = list(dict.fromkeys([*finding["people"], *oddity.people]))[:EXAMPLES]
        finding["texts"] = sorted({*finding["texts"], sheet.text})
        if code in LACKING:
            finding["level"] = Level.WRONG if skips else Level.NOTE
    yield from findings.values()


def _of_sizes(texts: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield one finding for each part that is cut off, with its worst case; the texts have the
    rest. Then yield messages that are too large."""
    platforms = [(text["text"], platform) for text in texts for platform in text["platforms"]]
    for code, name in CUTS:
        over = [(text, platform) for text, platform in platforms if _excess(platform, name) > 0]
        if over:
            text, worst = max(over, key=lambda pair: _excess(pair[1], name))
            size, person = worst["longest"][name]
            yield _finding(
                code,
                devices=sum(max(platform[f"{name}_cut"], 1) for _, platform in over),
                exact=all(platform["exact"] for _, platform in over),
                text=text,
                platform=worst["platform"],
                size=size,
                most=worst["shows"][name],
                people=[person],
            )
    for text, platform in platforms:
        if platform["too_large"]:
            where = {"text": text, "platform": platform["platform"], "exact": platform["exact"]}
            yield _finding(Code.TOO_LARGE, **where, devices=platform["too_large"])


def _excess(platform: dict[str, Any], name: str) -> int:
    """Return by how much the longest text exceeds what a phone shows."""
    size, *_ = platform["longest"][name] or [0]
    return int(size) - int(platform["shows"][name])


def _of_refused(refused: list[dict[str, Any]], texts: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield findings for the rendered people whose text cannot be rendered, or that FCM refuses.
    Messages that are too large are left out where they were counted before."""
    counted = {
        (text["text"], platform["platform"])
        for text in texts
        for platform in text["platforms"]
        if platform["too_large"]
    }
    for refusal in refused:
        where = {"text": refusal["text"], "platform": refusal["platform"]}
        of_a_few = {"devices": 1, "exact": False, "people": [refusal["person"]]}
        if refusal["reason"] != Reason.TOO_LONG:
            yield _finding(Code.REFUSED, **where, **of_a_few, reason=refusal["reason"])
        elif (refusal["text"], refusal["platform"]) not in counted:
            yield _finding(Code.TOO_LARGE, **where, **of_a_few)


def _of_keys(check: TextCheck) -> Iterator[Finding]:
    """Yield data keys whose values never arrive as written. Keys that FCM itself reserves are
    refused when a template is saved, and before a check."""
    findings: dict[tuple[str, str], Finding] = {}
    for tag in ("", *languages_of(check.content)):
        for platform in PLATFORMS:
            sheet = on_platform(check.content, tag, platform)
            for key in _written_over(sheet, platform).intersection(sheet["data"]):
                where = "" if key == LINK_KEY else platform
                findings[key, where] = _finding(Code.RESERVED_KEY, key=key, platform=where)
    yield from findings.values()


def _written_over(sheet: dict[str, Any], platform: str) -> set[str]:
    """Return the keys that are overwritten: by the template's link, by Apple's own values, or by
    title and body in a data-only message."""
    keys = {LINK_KEY} if sheet["link"] else set()
    keys |= {APPLES} if platform == "ios" else set()
    return keys | (TEXTS if sheet["options"].get("data_only") else set())


def _of_links(check: TextCheck) -> Iterator[Finding]:
    for link in check.links:
        if links.is_dead(link):
            yield _finding(Code.DEAD_LINK, **link)
        elif links.is_in_trouble(link):
            yield _finding(Code.LINK_TROUBLE, **link)


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


def _of_sent_before(check: TextCheck, groups: list[Group]) -> Iterator[Finding]:
    if devices := sum(group.sums["again"] for group in groups):
        runs = sorted({run for run, _ in (check.plan or {})["same"]}, reverse=True)
        yield _finding(Code.SAID_BEFORE, devices=devices, runs=runs, days=check.days)


def _not_looked_at(sheets: Sheets) -> Iterator[Finding]:
    if sheets.left_out:
        yield _finding(Code.NOT_LOOKED_AT, variables=sheets.left_out[:LOCALES])
