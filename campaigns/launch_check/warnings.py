"""Warnings: what looks odd about a campaign that can be launched. None of them is an obstacle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences import last_seen, reach, vocabulary
from campaigns.audiences.behavior import past, reported
from campaigns.audiences.behavior.reported import CAN_TELL
from campaigns.audiences.bounds import leaves
from campaigns.audiences.lists import outcomes
from campaigns.audiences.reach import Reach
from campaigns.audiences.resolving import events_kept
from campaigns.audiences.resolving.covered_runs import forgotten, not_over, one_run
from campaigns.audiences.resolving.settling import rules_at_launch
from campaigns.launch_check import wrong_text
from campaigns.planning import analytics_labels, campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.runs import prior_recipients
from campaigns.runs.chunk import at_work
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE
from notifications.keys import credentials
from notifications.people.contact import Contact
from notifications.people.events import reading
from notifications.people.project import Project
from notifications.values.moments import in_zone

PREFIX = "attributes."
# “www.shop.example”, “shop.example/sale”: a host as people write it.
BARE = re.compile(r"\s*(www\.[\w.-]+|([a-z0-9-]+\.)+[a-z]{2,}/)", re.ASCII)
SECONDS = 0.3  # per page, to count the people that a rule asks for
# What these operators compare. A value of another type never matches.
NEEDS = {
    **dict.fromkeys(("gt", "gte", "lt", "lte"), "number"),
    **dict.fromkeys(("before", "after", "within_last"), "time"),
    **dict.fromkeys(("contains", "starts_with"), "text"),
    **dict.fromkeys(("has", "has_any"), "list"),
}


class Code(StrEnum):
    """The warning's name in the API."""

    NOBODY_KNOWN = "nobody_known"  # the project has no people at all
    NO_SUCH_ATTRIBUTE = "no_such_attribute"
    OTHER_TYPE = "other_type"
    ASKS_DEVICES = "asks_devices"  # a rule asks when the device, not the person, was last seen
    UNSEEN = "unseen"  # devices that match but are left out by the project's policy
    FORGOTTEN_RUNS = "forgotten_runs"
    RUN_NOT_OVER = "run_not_over"
    EVENTS_REMOVED = "events_removed"  # a rule without a time limit does not see old ones
    CANNOT_TELL = "cannot_tell"  # for some people, nobody knows whether they opened it
    UNCOUNTABLE = "uncountable"
    NOBODY_REACHABLE = "nobody_reachable"
    EDITED_SINCE = "edited_since"  # the campaign or its run was edited: they differ
    HAD_UNKNOWN = "had_unknown"  # nobody knows who got it in a run whose recipients were removed
    NO_CREDENTIALS = "no_credentials"
    TEXT_WAS_WRONG = "text_was_wrong"  # a run had this text, and is being corrected
    WRONG_IN_INBOX = "wrong_in_inbox"  # a correction leaves the wrong items in inboxes
    BARE_LINK = "bare_link"  # an address without https://
    TEXT_UNCHANGED = "text_unchanged"  # a correction still has the text that it corrects
    NO_SUCH_EVENT = "no_such_event"  # the event that the goal waits for is unknown
    NO_SUCH_VALUE = "no_such_value"  # the value that the goal sums up is unknown, or no number
    NOBODY_TELLS = "nobody_tells"  # nothing reports which of its variants is opened
    NO_GOAL = "no_goal"  # there is no goal to compare the control group by
    MANY_LABELS = "many_labels"
    SHARED_PACE = "shared_pace"
    AT_NIGHT = "at_night"
    BY_THE_CLOCK = "by_the_clock"  # local time: for some people it has passed, or is unknown
    HEAVY_IMAGE = "heavy_image"  # phones fetch it from this server, as fast as they are sent to


@dataclass(frozen=True)
class LaunchWarning:
    """A warning: its code, and what to know and do, in the reader's language."""

    code: Code
    words: str
    see: Sequence[Campaign] = ()  # a page links to them

    def __str__(self) -> str:
        return self.words


# --- About the audience's rules -------------------------------------------------------------------


def of_rules(project_id: int, tree: dict[str, Any]) -> list[LaunchWarning]:
    """Warn of rules that are valid but hardly mean what they say."""
    if not Contact.objects.filter(project=project_id).exists():
        nobody = _(
            "This project has no people yet: import a file, or register people through the API."
        )
        return [LaunchWarning(Code.NOBODY_KNOWN, nobody)]
    run_leaves = [leaf for leaf in leaves(tree) if leaf["field"] == past.FIELD]
    of_runs = [*_forgotten(project_id, run_leaves), *_not_over(project_id, run_leaves)]
    return [
        *of_runs,
        *_cannot_tell(project_id, run_leaves),
        *of_removed_events(project_id, tree),
        *_of_attributes(project_id, tree),
    ]


def of_removed_events(project_id: int, tree: dict[str, Any]) -> list[LaunchWarning]:
    """Warn of rules without a time limit when old events are removed. The rules of audiences that
    these rules name are included."""
    launched_rules = rules_at_launch(project_id, tree)
    unlimited = filter(events_kept.has_no_limit, leaves(launched_rules))
    rules = "; ".join(dict.fromkeys(map(events_kept.in_words, unlimited)))
    events = events_kept.retention_of_events(project_id, launched_rules) if rules else None
    if events is None:
        return []
    text = _(
        "Events before {date} are removed. These rules do not see them, as they have no time "
        "limit: {rules}."
    )
    words = text.format(date=events.day, rules=rules)
    return [LaunchWarning(Code.EVENTS_REMOVED, words)]


def _not_over(project_id: int, run_leaves: list[dict[str, Any]]) -> list[LaunchWarning]:
    text = _("Run {number} is not finished: people still waiting in it count as not reached.")
    going = {pk for leaf in run_leaves if (pk := not_over(project_id, leaf))}
    return [LaunchWarning(Code.RUN_NOT_OVER, text.format(number=pk)) for pk in sorted(going)]


def _cannot_tell(project_id: int, run_leaves: list[dict[str, Any]]) -> list[LaunchWarning]:
    """Warn of the first “has not opened” rule that selects devices which cannot report opens."""
    for leaf in run_leaves:
        value = leaf["value"]
        asks = value["outcome"] == reported.NOT_OPENED and CAN_TELL not in value
        if asks and (words := _how_many(one_run(project_id, value))):
            return [LaunchWarning(Code.CANNOT_TELL, words)]
    return []


def _how_many(run: int | None) -> str:
    counted = outcomes.count(run, outcomes.UNOPENED, seconds=SECONDS) if run else None
    if counted is not None and not counted[1]:
        return ""
    if counted is None:
        return _(
            "A rule asks who has not opened it. It includes people with a phone that cannot tell: "
            "they may have."
        )
    text = ngettext(
        "A rule asks who has not opened it. Of {people}, {silent} has a phone that cannot tell: "
        "they may have.",
        "A rule asks who has not opened it. Of {people}, {silent} have a phone that cannot tell: "
        "they may have.",
        counted[1],
    )
    return text.format(people=f"{counted[0]:,}", silent=f"{counted[1]:,}")


def _forgotten(project_id: int, run_leaves: list[dict[str, Any]]) -> list[LaunchWarning]:
    count = max((forgotten(project_id, leaf["value"]) for leaf in run_leaves), default=0)
    text = ngettext(
        "A rule refers to {count} run whose recipients were removed: nobody counts as "
        "having been in it.",
        "A rule refers to {count} runs whose recipients were removed: nobody counts as "
        "having been in them.",
        count,
    )
    return [LaunchWarning(Code.FORGOTTEN_RUNS, text.format(count=f"{count:,}"))] if count else []


def _of_attributes(project_id: int, tree: dict[str, Any]) -> list[LaunchWarning]:
    comparisons = [
        (leaf["field"].removeprefix(PREFIX), leaf["op"])
        for leaf in leaves(tree)
        if leaf["field"].startswith(PREFIX)
    ]
    odd = [_asks_devices()] if last_seen.asks_devices(tree) else []
    if not comparisons:
        return odd
    types = {attribute.name: attribute.types for attribute in vocabulary.attributes(project_id)}
    unknown_names = vocabulary.nowhere(project_id, {name for name, _op in comparisons} - set(types))
    odd += [_no_such_attribute(name) for name in unknown_names]
    return odd + [
        _other_type(name, op)
        for name, op in dict.fromkeys(comparisons)
        if name in types and op in NEEDS and not _has_kind(NEEDS[op], types[name])
    ]


def _has_kind(kind: str, types: list[str]) -> bool:
    return kind in types or (kind == "text" and "time" in types)  # a time is written as a text


def _asks_devices() -> LaunchWarning:
    text = _(
        "A rule uses when a device was last seen: it also matches the old phone of "
        "somebody who used another phone yesterday. Use when the person was last seen "
        "instead."
    )
    return LaunchWarning(Code.ASKS_DEVICES, text)


def _no_such_attribute(name: str) -> LaunchWarning:
    text = _(
        "No person has the attribute “{name}”: your app has renamed it or no longer sends "
        "it. Choose another attribute, or remove the rule."
    )
    return LaunchWarning(Code.NO_SUCH_ATTRIBUTE, text.format(name=name))


def _other_type(name: str, op: str) -> LaunchWarning:
    texts = {
        "number": _("“{name}” contains no numbers, so a rule that compares it matches nobody."),
        "time": _("“{name}” contains no dates, so a rule about its time matches nobody."),
        "text": _("“{name}” contains no text, so a rule about its letters matches nobody."),
        "list": _("“{name}” contains no lists, so a rule about what is in it matches nobody."),
    }
    return LaunchWarning(Code.OTHER_TYPE, texts[NEEDS[op]].format(name=name))


def of_unseen(project_id: int, tree: dict[str, Any], found: Reach) -> list[LaunchWarning]:
    """Warn how many matching devices are left out because they were not seen for long."""
    try:
        unseen = reach.unseen(project_id, tree, found)
    except reach.Uncountable:
        return []
    if unseen is None or not unseen.devices:
        return []
    text = ngettext(
        "%(count)s device unseen for %(days)s days is left out, as set in the project.",
        "%(count)s devices unseen for %(days)s days are left out, as set in the project.",
        unseen.devices,
    )
    counted = (
        f"{unseen.devices:,}" if unseen.exact else _("about %(n)s") % {"n": f"{unseen.devices:,}"}
    )
    return [LaunchWarning(Code.UNSEEN, text % {"count": counted, "days": unseen.days})]


# --- About what it says ---------------------------------------------------------------------------


def of_text(campaign: Campaign) -> Iterator[LaunchWarning]:
    """Warn if a text that was wrong before would be sent again."""
    if text := wrong_text.unchanged(campaign):
        yield LaunchWarning(Code.TEXT_UNCHANGED, text)
    if campaign.corrects and campaign.corrects.inbox and not campaign.inbox:
        text = _(
            "The wrong text stays in people's inboxes. Switch on “Also into the inbox” to replace "
            "it."
        )
        yield LaunchWarning(Code.WRONG_IN_INBOX, text)
    for run, corrections in wrong_text.said_again(campaign):
        words = wrong_text.in_words(run, corrections)
        yield LaunchWarning(Code.TEXT_WAS_WRONG, words, see=corrections)


def of_links(campaign: Campaign) -> Iterator[LaunchWarning]:
    """Warn of a web address without https://, which a phone takes for a place in the app. This is
    no error: an app may have such places."""
    texts = [wording.template for wording in campaign_variants.wordings(campaign)]
    links = [
        link
        for text in texts
        for link in (text.link, *(own.get("link", "") for own in text.locales.values()))
    ]
    for link in sorted({link for link in links if BARE.match(link)}):
        message = _(
            "The link “{link}” has no “https://”: a phone takes it for a place in the app, and "
            "opens no page."
        )
        yield LaunchWarning(Code.BARE_LINK, message.format(link=link[:80]))


# --- About its goal and its variants --------------------------------------------------------------


def of_goal(campaign: Campaign, now: datetime) -> Iterator[LaunchWarning]:
    """Warn of a goal event or value that no app has reported: mistyped, or still to come."""
    if not campaign.goal_event:
        return
    if not reading.ever(campaign.project_id, campaign.goal_event):
        yield LaunchWarning(Code.NO_SUCH_EVENT, _unheard_of(campaign))
    elif campaign.goal_value and (words := _not_summed(campaign, now)):
        yield LaunchWarning(Code.NO_SUCH_VALUE, words)


def of_variants(campaign: Campaign) -> Iterator[LaunchWarning]:
    """Warn if variants or a control group could never show a result."""
    if campaign.variants.exists() and not (campaign.goal_event or _can_tell(campaign.project)):
        text = _(
            "It has variants, and nobody would hear which is opened more: the project asks for no "
            "receipts and counts no links, and the campaign has no goal."
        )
        yield LaunchWarning(Code.NOBODY_TELLS, text)
    if campaign.control_percent and not campaign.goal_event:
        text = _(
            "It has a control group and no goal: give it one, or nothing says what those did who "
            "got nothing."
        )
        yield LaunchWarning(Code.NO_GOAL, text)


def _can_tell(project: Project) -> bool:
    return project.asks_receipts or bool(project.counts_links)


def _unheard_of(campaign: Campaign) -> str:
    text = _("The goal waits for “{name}”, and nobody has done that so far.")
    names = reading.names(campaign.project_id)
    return _suggest_similar(text.format(name=campaign.goal_event), campaign.goal_event, names)


def _not_summed(campaign: Campaign, now: datetime) -> str:
    project, event, name = campaign.project_id, campaign.goal_event, campaign.goal_value
    numbers = reading.numbers(project, event, name, now=now)
    if numbers is None or not numbers.events or numbers.numbers:
        return ""
    if numbers.held:
        text = _("The goal sums up “{name}”, and that is a number in no recent “{event}”.")
        return text.format(name=name, event=event)
    text = _("The goal sums up “{name}”, and no recent “{event}” has that.")
    names = [event_property.name for event_property in reading.properties(project, event, now=now)]
    return _suggest_similar(text.format(name=name, event=event), name, names)


def _suggest_similar(text: str, name: str, known_names: Sequence[str]) -> str:
    alike = get_close_matches(name, known_names, 1)
    question = _("Is “{name}” meant?").format(name=alike[0]) if alike else _("Check the name.")
    return f"{text} {question}"


# --- About sending it -----------------------------------------------------------------------------


def of_edits(campaign: Campaign, waiting: Run | None) -> Iterator[LaunchWarning]:
    """Warn if the next run was launched with other content than the campaign has now."""
    rules = campaign.audience.frozen_rules()
    if waiting is None or not edited_since(waiting, campaign, lambda: rules):
        return
    text = _(
        "Run %(run)s sends something else than is shown here: the campaign was edited since it was "
        "launched, or the run was. To send what is shown here, stop that run and launch it again."
    )
    yield LaunchWarning(Code.EDITED_SINCE, text % {"run": waiting.pk})


def edited_since(run: Run, campaign: Campaign, rules: Callable[[], Any]) -> bool:
    """Whether the run's people, text or settings differ from the campaign's; a new name does not
    count. `rules`: returns the campaign's rules, as the run would have them."""
    policy = campaign.policy | {"analytics_label": _label(run, campaign)}
    if any(getattr(run, name) != value for name, value in policy.items()):
        return True
    written = (campaign.updated_at, campaign.audience.updated_at, campaign.template.updated_at)
    if max(written) <= _launched_at(run, campaign):
        return False
    return bool(rules() != run.rules or campaign.content != run.content)


def _label(run: Run, campaign: Campaign) -> str:
    """Return the campaign's label; the run's, if both were made from the name at their time."""
    is_made = analytics_labels.is_made(run.analytics_label, campaign.pk)
    return run.analytics_label if is_made and not campaign.analytics_label else campaign.label


def _launched_at(run: Run, campaign: Campaign) -> datetime:
    """Return when the run was launched. In a series, its first run counts: later ones copy it."""
    if run.occurrence == ONCE:
        return run.launched_at
    first = campaign.runs.exclude(occurrence=ONCE).order_by("pk").first()
    return first.launched_at if first else run.launched_at


def of_had(campaign: Campaign) -> Iterator[LaunchWarning]:
    """Warn if nobody knows who got an early run, because its recipients were removed."""
    until = prior_recipients.unknown_until(campaign.pk) if campaign.once_each else None
    if until is None:
        return
    text = _(
        "Who had it in a run that began on %(at)s or earlier is not known any more: their "
        "recipients were removed before. Such people count as not having had it."
    )
    yield LaunchWarning(Code.HAD_UNKNOWN, text % {"at": in_zone(until, campaign.project.timezone)})


def of_sending(campaign: Campaign, starts_at: datetime, now: datetime) -> Iterator[LaunchWarning]:
    if lacking := credentials.lacking(campaign.project):
        yield LaunchWarning(Code.NO_CREDENTIALS, lacking)
    if message := analytics_labels.warning(campaign.project_id, campaign.label, at=starts_at):
        yield LaunchWarning(Code.MANY_LABELS, message)
    if starts_at <= now:
        yield from _other_runs(campaign.project)


def _other_runs(project: Project) -> Iterator[LaunchWarning]:
    going = at_work(project.pk).count()
    if not going:
        return
    text = ngettext(
        "Another run of this project is sending now; the two share the project's rate.",
        "%(count)s other runs of this project are sending now; all share the project's rate.",
        going,
    )
    yield LaunchWarning(Code.SHARED_PACE, text % {"count": going})
