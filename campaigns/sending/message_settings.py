"""Message settings: what a recipient is sent, until when, and what happens if an answer is lost.

There is one object for each text of a run, and one for each message to a person.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from campaigns.runs.claiming import Claim
from campaigns.runs.local_time import LocalTime
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

UNSEEN = "unseen"  # the variable for the number of unseen inbox items with the same collapse key


@dataclass(frozen=True)
class MessageSettings:
    content: Content
    collapse_id: str
    analytics_label: str
    on_unknown: str
    ttl_seconds: int
    since: datetime | None  # when the time to live began to count
    deadline: datetime  # nothing is sent after it to any recipient; see also `Left.deadline`
    due: datetime | None = None  # for a message: when it could leave first
    revision: int = FIRST  # of a run's text
    # They override the person's attributes of the same name.
    variables: Mapping[str, Any] = field(default_factory=dict)
    together: str = ""  # the collapse key by which its inbox items are counted
    asks_receipts: bool = False
    counts_links: str = ""
    only_checked: bool = False  # FCM checks whether it would accept them, and delivers none
    quiet_if_online: int | None = None  # seconds: no push if a stream was open within this time
    local_time: LocalTime | None = None  # at which each person gets it; None: all at once
    quiet_hours: QuietHours | None = None  # in each person's time zone; None: it may always leave

    @cached_property
    def says_how_many(self) -> bool:
        """Whether its text may ask for the number of unseen items."""
        return bool(self.together) and UNSEEN.encode() in exact.dumps(self.content)

    @cached_property
    def renderer(self) -> Renderer:
        """The renderer of its content. Made once, as it prepares what is the same for all."""
        return Renderer(
            self.content,
            collapse_id=self.collapse_id,
            analytics_label=self.analytics_label,
            asks_receipts=self.asks_receipts,
            counts_links=self.counts_links,
            mark="only_checked" if self.only_checked else "",
        )


def of_run(run: Run) -> Mapping[int | None, MessageSettings]:
    """The settings of a run's newest text, by the recipient's group. All groups share them,
    unless the run has variants."""
    texts = texts_of(run)
    its_own = _settings_of_campaign(run, texts[MAIN])
    if not variant.has_variants(run):
        return defaultdict(lambda: its_own)
    by_text = {number: replace(its_own, content=content) for number, content in texts.items()}
    groups = (*texts, CONTROL, HOLDOUT, REST)
    return {group: by_text[variant.read_by(run, group)] for group in groups}


def _settings_of_campaign(run: Run, content: Content) -> MessageSettings:
    return MessageSettings(
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
    """The project's settings for receipts and counted links, which its messages carry."""
    return {"asks_receipts": project.asks_receipts, "counts_links": project.counts_links}


def of_chunk(claim: Claim) -> Mapping[int | None, MessageSettings]:
    """The settings of a chunk: by message number in a run of messages, else by group."""
    run, chunk = claim.run, claim.chunk
    if run.kind != Run.Kind.MESSAGES:
        return of_run(run)
    messages = of_recipients(run.pk, chunk.first_seq, chunk.last_seq)
    # Messages that share a text share its settings, too: they are built once for all.
    asks = asked_of(run.project)
    heads = {message.number: message for message in messages.values()}
    quiet = _quiet_hours_of_messages(run.project, [*heads.values()])
    shared = {
        number: replace(of_message(message, **asks), quiet_hours=quiet)
        for number, message in heads.items()
    }
    return {number: shared[message.number] for number, message in messages.items()}


def _quiet_hours_of_messages(project: Project, messages: list[Message]) -> QuietHours | None:
    """The quiet hours of a chunk's messages, which are all of one category."""
    if not messages:
        return None
    return quiet_hours.for_category(project, messages[0].category_kind, messages[0].category)


def of_message(message: Message, *, asks_receipts: bool, counts_links: str) -> MessageSettings:
    return MessageSettings(
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
