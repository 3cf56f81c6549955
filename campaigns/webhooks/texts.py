"""Texts: what e-mails and Slack messages say about a run's events, in the reader's language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _

from campaigns.results.next_step import NEXT_STEP
from campaigns.runs import details
from campaigns.runs.messages.outcome import GOES_ON_BY_ITSELF
from campaigns.runs.reasons import cause_in_words
from notifications.values.moments import in_words
from notifications.webhooks.composing import EventText
from notifications.webhooks.event_types import EventType


def started(data: dict[str, Any]) -> EventText:
    planned = f"{data['totals']['planned']:,}"
    text = _("So far %(count)s recipients are planned.") % {"count": planned}
    return _event_text(data, _("“%(name)s” is being sent"), text=text)


def paused(data: dict[str, Any]) -> EventText:
    return _event_text(data, _("“%(name)s” is paused"), text=why(data), facts=_count_facts(data))


def needs_a_person(data: dict[str, Any]) -> EventText:
    """Says what happened, and what to do about it."""
    if not data["campaign"]:
        event_text = EventText(
            _("No message to single people leaves"), f"{why(data)}\n{GOES_ON_BY_ITSELF}"
        )
        event_text.link, event_text.label = data["url"] or "", _("Open the messages")
        return event_text
    step = str(NEXT_STEP.get(data["cause"], ""))
    text = "\n".join(part for part in (why(data), step) if part)
    return _event_text(
        data, _("“%(name)s” stopped and needs you"), text=text, facts=_count_facts(data)
    )


def text_of_ended_run(data: dict[str, Any]) -> EventText:
    was = _("“%(name)s” was cancelled") if data["state"] == "cancelled" else _("“%(name)s” is sent")
    rate = _("%(rate)s a second") % {"rate": f"{data['rate_per_second']:,.0f}"}
    took = in_words(data["duration_seconds"])
    return _event_text(
        data, was, facts=[*_count_facts(data), (_("Rate"), rate), (_("It took"), took)]
    )


WORDS: dict[str, Callable[[dict[str, Any]], EventText]] = {
    EventType.RUN_STARTED: started,
    EventType.RUN_PAUSED: paused,
    EventType.RUN_NEEDS_A_PERSON: needs_a_person,
    EventType.RUN_FINISHED: text_of_ended_run,
}


def _event_text(
    data: dict[str, Any],
    headline: str,
    *,
    text: str = "",
    facts: list[tuple[str, str]] | None = None,
) -> EventText:
    named = headline % {"name": data["campaign"]["name"]}
    return EventText(named, text, facts or [], data["url"] or "", _("Open the run"))


def why(data: dict[str, Any]) -> str:
    """The cause of a pause, with its detail."""
    detail = data["detail"]
    what = details.in_words(detail["code"], detail["args"])
    return f"{cause_in_words(data['cause'])} {what}".strip()


def _count_facts(data: dict[str, Any]) -> list[tuple[str, str]]:
    totals = data["totals"]
    names = {
        "planned": _("Planned"),
        "accepted": _("Accepted"),
        "rejected": _("Rejected"),
        "skipped": _("Skipped"),
        "unknown": _("Unknown"),
        "waiting": _("Waiting"),
    }
    visible = {name: word for name, word in names.items() if name != "waiting" or totals[name]}
    return [(word, f"{totals[name]:,}") for name, word in visible.items()]
