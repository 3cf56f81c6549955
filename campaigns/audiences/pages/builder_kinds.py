"""Rule kinds beyond a person's own row: what the rule builder offers for each."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.audience import Audience
from campaigns.audiences.behavior.kinds import KINDS
from campaigns.audiences.behavior.past import WITH_REASON
from campaigns.planning.campaign import Campaign
from campaigns.runs.reasons import Reason
from notifications.people.events import reading

MAX_SHOWN = 300  # campaigns and audiences, newest first
GROUP = gettext_lazy("What happened")
LABELS = {
    "event": gettext_lazy("an event"),
    "run": gettext_lazy("past campaigns"),
    "audience": gettext_lazy("another audience"),
    "random": gettext_lazy("a random part"),
    "people": gettext_lazy("at most a number of people"),
}
VERBS = {
    "was": gettext_lazy("was"),
    "was_not": gettext_lazy("was not"),
    "did": gettext_lazy("did"),
    "did_not": gettext_lazy("did not do"),
}
OUTCOMES = {
    "accepted": gettext_lazy("reached"),
    "planned": gettext_lazy("a recipient"),
    "not_reached": gettext_lazy("a recipient, but not reached"),
    "rejected": gettext_lazy("rejected"),
    "skipped": gettext_lazy("skipped"),
    "unknown": gettext_lazy("with unknown outcome"),
    "in_inbox": gettext_lazy("with its text in the inbox now"),
    "received": gettext_lazy("known to have received it"),
    "displayed": gettext_lazy("known to have been shown it"),
    "opened": gettext_lazy("known to have opened it"),
    "not_opened": gettext_lazy("reached, but not known to have opened it"),
    "dismissed": gettext_lazy("known to have dismissed it"),
    "action_1": gettext_lazy("known to have pressed button 1"),
    "action_2": gettext_lazy("known to have pressed button 2"),
    "action_3": gettext_lazy("known to have pressed button 3"),
}
HINTS = {
    "run": gettext_lazy(
        "Counts people: somebody reached on one of two phones counts as reached. What was opened "
        "is known only of phones whose app reports it."
    ),
    "random": gettext_lazy("The same people each time; another draw selects others."),
    "people": gettext_lazy(
        "Chosen at random from the people with a device who match the other rules; always "
        "the same people."
    ),
    "event": "",
    "audience": gettext_lazy("Uses its rules at the time of the launch."),
}
CONDITIONS = {
    "eq": gettext_lazy("is"),
    "ne": gettext_lazy("is not"),
    "gt": gettext_lazy("is more than"),
    "gte": gettext_lazy("is at least"),
    "lt": gettext_lazy("is less than"),
    "lte": gettext_lazy("is at most"),
    "exists": gettext_lazy("is known"),
    "not_exists": gettext_lazy("is not known"),
}


def fields() -> list[dict[str, Any]]:
    return [_field(name) for name in LABELS if name in KINDS]


def _field(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": str(LABELS[name]),
        "group": str(GROUP),
        "types": [name],
        "ops": list(KINDS[name].ops),
        "choices": [],
        "hint": str(HINTS[name]),
        "gone": False,
    }


def choices(project_id: int) -> dict[str, Any]:
    rows = Audience.objects.filter(project=project_id).order_by("-pk")[:MAX_SHOWN]
    campaigns = Campaign.objects.filter(project=project_id, runs__planned__isnull=False)
    launched = campaigns.distinct().order_by("-pk").values_list("pk", "name")[:MAX_SHOWN]
    return {
        "audiences": [{"exact": row.pk, "label": row.name} for row in rows],
        "campaigns": [{"id": pk, "label": name} for pk, name in launched],
        "outcomes": _pairs(OUTCOMES),
        "reasons": [{"id": code, "label": str(label)} for code, label in Reason.choices],
        "withReason": list(WITH_REASON),
        "scopes": _pairs(_scopes()),
        "events": reading.names(project_id),
        "conditions": _pairs(CONDITIONS),
    }


def _scopes() -> dict[str, str]:
    return {
        "last": _("in the last run"),
        "last_of": _("in the last run of …"),
        "campaign": _("in any run of …"),
        "any": _("in any run"),
    }


def _pairs(words: Any) -> list[dict[str, str]]:
    return [{"id": code, "label": str(label)} for code, label in words.items()]


def properties(project_id: int, event: str) -> list[dict[str, Any]]:
    """The properties of this event, with their types."""
    known = reading.properties(project_id, event, now=timezone.now())
    return [
        {"name": known_property.name, "types": known_property.types} for known_property in known
    ]
