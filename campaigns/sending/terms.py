"""Terms: what a recipient is sent, until when, and what becomes of an answer that was lost.

All recipients of a campaign's run share theirs, and those of one message share its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from campaigns.runs.claiming import Claim
from campaigns.runs.hours.local_time import LocalTime
from campaigns.runs.messages.message import Message, of_recipients
from campaigns.runs.revisions.revision import FIRST, texts_of
from campaigns.runs.run import Run
from campaigns.runs.variants import variant
from campaigns.runs.variants.group import CONTROL, HOLDOUT, MAIN, REST
from campaigns.texts.content import Content
from campaigns.texts.rendering import Renderer
from notifications.people.consent import quiet_hours
from notifications.people.consent.hours import QuietHours
from notifications.people.project import Project
from notifications.values import exact

UNSEEN = "unseen"  # what a text calls the person's new items of the same collapse


@dataclass(frozen=True)
class Terms:
    content: Content
    collapse_id: str
    analytics_label: str
    on_unknown: str
    ttl_seconds: int
    since: datetime | None  # when the seconds began to count
    deadline: datetime  # nothing is worth sending after it: to anybody, see `Left.deadline`
    due: datetime | None = None  # a message's: when it could leave first
    revision: int = FIRST  # of a run's text
    # They win over the person's attributes.
    variables: Mapping[str, Any] = field(default_factory=dict)
    together: str = ""  # what its inbox items are counted by
    asks_receipts: bool = False
    counts_links: str = ""
    only_checked: bool = False  # FCM is asked whether it would take them, and delivers none
    quiet_if_online: int | None = None  # seconds: who had a stream open within them is not rung
    local_time: LocalTime | None = None  # by which each gets it; None: all at once
    quiet_hours: QuietHours | None = None  # by the clock of each person; None: it may always leave

    @cached_property
    def says_how_many(self) -> bool:
        """Whether its text may ask for the number of unseen items."""
        return bool(self.together) and UNSEEN.encode() in exact.dumps(self.content)

    @cached_property
    def renderer(self) -> Renderer:
        """Made once: it works out what is the same for all."""
        return Renderer(
            self.content,
            collapse_id=self.collapse_id,
            analytics_label=self.analytics_label,
            asks_receipts=self.asks_receipts,
            counts_links=self.counts_links,
            mark="only_checked" if self.only_checked else "",
        )


def of_run(run: Run) -> Mapping[int | None, Terms]:
    """By the group of the recipient; all have the same, unless it has variants. With the revision
    of the text that it has now."""
    texts = texts_of(run)
    its_own = _of_campaign(run, texts[MAIN])
    if not variant.has_variants(run):
        return defaultdict(lambda: its_own)
    by_text = {number: replace(its_own, content=content) for number, content in texts.items()}
    groups = (*texts, CONTROL, HOLDOUT, REST)
    return {group: by_text[variant.read_by(run, group)] for group in groups}


def _of_campaign(run: Run, content: Content) -> Terms:
    return Terms(
        content=content,
        revision=run.revision,
        collapse_id=run.collapse_id,
        analytics_label=run.analytics_label,
        on_unknown=run.on_unknown,
        ttl_seconds=run.ttl_seconds,
        since=run.started_at,
        deadline=run.deadline,
        only_checked=run.is_rehearsal,
        local_time=run.local_time,
        quiet_hours=None if run.is_rehearsal else run.quiet_hours,
        **asked_of(run.project),
    )


def asked_of(project: Project) -> dict[str, Any]:
    """What its messages carry so that we hear what became of them."""
    return {"asks_receipts": project.asks_receipts, "counts_links": project.counts_links}


def of_chunk(claim: Claim) -> Mapping[int | None, Terms]:
    """Of a run of messages, by the number of the message; else by the group."""
    run, chunk = claim.run, claim.chunk
    if run.kind != Run.Kind.MESSAGES:
        return of_run(run)
    messages = of_recipients(run.pk, chunk.first_seq, chunk.last_seq)
    # Who shares a text shares its terms, too: they are read once for all.
    asks = asked_of(run.project)
    heads = {message.number: message for message in messages.values()}
    quiet = _quiet_hours_of_messages(run.project, [*heads.values()])
    shared = {
        number: replace(of_message(message, **asks), quiet_hours=quiet)
        for number, message in heads.items()
    }
    return {number: shared[message.number] for number, message in messages.items()}


def _quiet_hours_of_messages(project: Project, messages: list[Message]) -> QuietHours | None:
    """A chunk holds messages of one category."""
    if not messages:
        return None
    return quiet_hours.for_category(project, messages[0].category_kind, messages[0].category)


def of_message(message: Message, *, asks_receipts: bool, counts_links: str) -> Terms:
    return Terms(
        content=message.content or {},
        collapse_id=message.collapse_id,
        analytics_label="",
        on_unknown=message.on_unknown,
        ttl_seconds=message.ttl_seconds,
        since=message.at,
        deadline=message.at + timedelta(seconds=message.ttl_seconds),
        due=max(message.at, message.created_at),
        variables=message.variables or {},
        together=message.collapse if message.inbox is not None else "",
        asks_receipts=asks_receipts,
        counts_links=counts_links,
        quiet_if_online=(message.inbox or {}).get("quiet_if_online"),
    )
