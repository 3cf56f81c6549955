"""Automation review: its sentence, and what it would have done in the last days."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from campaigns.runs import reasons
from campaigns.runs.ledger import Delivery
from campaigns.texts import preview
from campaigns.triggers import automation_counts, automation_texts, backtest, readers
from campaigns.triggers.automation import Automation
from campaigns.triggers.pages.form import AutomationForm
from campaigns.triggers.trigger import NotSent
from notifications.people.events import reading
from notifications.people.project import Project
from notifications.postgres.budget import Busy, slow_query_slot


def of_form(posted: Any, project: Project) -> dict[str, Any]:
    """The review of the form's current values, saved or not."""
    form = AutomationForm(posted, instance=Automation(project=project))
    del form.fields["project"], form.fields["name"]
    form.full_clean()
    name = posted.get("event_name", "").strip()
    properties = reading.properties(project.pk, name, now=timezone.now()) if name else []
    unfinished = [str(form.fields[field].label) for field in form.errors if field in form.fields]
    details = {} if form.errors else of_automation(form.instance)
    return {**details, "unfinished": unfinished, "properties": properties}


def of_automation(automation: Automation) -> dict[str, Any]:
    try:
        with slow_query_slot(automation.project_id):
            look = backtest.look(automation, now=timezone.now())
    except Busy:
        look = None
    return {
        "automation": automation,
        "sentence": automation_texts.sentence(automation),
        "lately": look,
    }


def as_read(automation: Automation) -> dict[str, Any]:
    """The text as a recent or possible reader sees it, and how many lack a value."""
    content = automation.template.frozen()
    reader = readers.look(automation, now=timezone.now())
    card = preview.card(content, reader.person) if reader.did else None
    text = None if card and card.message else preview.as_read(content, reader.person)
    return {"card": card, "said": text, "readers": reader}


def numbers(automation: Automation) -> dict[str, Any]:
    """Template context: what the automation has done since it was first turned on."""
    counted = automation_counts.counts_of([automation.pk])
    outcomes = automation_counts.outcomes_of(automation.pk)
    return {
        "too_many": counted is None,
        "counts": (counted or {}).get(automation.pk, automation_counts.NOTHING),
        "not_sent": _not_sent((counted or {}).get(automation.pk, automation_counts.NOTHING)),
        "outcomes": outcomes,
        "ends": _ends(outcomes),
        "why": _why(outcomes),
    }


LabelledCounts = list[tuple[str, str, int]]  # label, query string of its list, count


def _not_sent(counts: automation_counts.Counts) -> LabelledCounts:
    return [
        (str(NotSent(code).label), f"?not_sent={code}", count)
        for code, count in counts.not_sent.items()
    ]


def _ends(outcomes: automation_counts.Outcomes | None) -> LabelledCounts:
    counts = outcomes.statuses.items() if outcomes else ()
    return [(end_in_words(end), f"?came_to={end}", count) for end, count in counts if count]


def _why(outcomes: automation_counts.Outcomes | None) -> LabelledCounts:
    counts = outcomes.reasons.items() if outcomes else ()
    return [(reasons.in_words(code), f"?why={code}", count) for code, count in counts]


def end_in_words(end: str) -> str:
    names: dict[str, Any] = {**dict(Delivery.Status.choices), **automation_counts.ENDS}
    return str(names[end])
