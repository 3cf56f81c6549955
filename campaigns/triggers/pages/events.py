"""Events of an automation and what became of each: all of them, or those of one count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _

from campaigns.runs import reasons
from campaigns.runs.ledger import Delivery
from campaigns.triggers import automation_counts
from campaigns.triggers.automation import Automation
from campaigns.triggers.pages.review import end_in_words
from campaigns.triggers.trigger import NotSent, Trigger
from notifications.people.contact import Contact

PAGE = 50
ENDS = [*Delivery.Status.values, *automation_counts.ENDS]


@dataclass(frozen=True)
class Line:
    """An event in the list. `person` is empty once they are erased."""

    trigger: Trigger
    person: str
    state: str


def page_of(automation: Automation, query: QueryDict) -> dict[str, Any]:
    """Template context: the events that the query asks for, newest first. Ignores bad values."""
    chosen = _read_filter(query)
    after = query.get("after", "")
    rows = Trigger.objects.filter(automation=automation, **_conditions_for(automation.pk, chosen))
    if after.isascii() and after.isdecimal() and len(after) < 19:
        rows = rows.filter(pk__lt=int(after))
    triggers = list(rows.order_by("-pk")[: PAGE + 1])
    further = {**chosen, "after": str(triggers[PAGE - 1].pk)} if len(triggers) > PAGE else {}
    return {
        "lines": _lines(triggers[:PAGE]),
        "which": _in_words(chosen),
        "first_page": not after,
        "first_url": f"?{urlencode(chosen)}",
        "next_url": f"?{urlencode(further)}" if further else "",
    }


def _read_filter(query: QueryDict) -> dict[str, str]:
    """The first valid filter of the query. Each of the four matches one kind of count."""
    known = {
        "state": [Trigger.State.WAITING.value, Trigger.State.SENT.value],
        "not_sent": NotSent.values,
        "came_to": ENDS,
        "why": reasons.Reason.values,
    }
    params = {name: query.get(name, "") for name in known}
    return next(({name: value} for name, value in params.items() if value in known[name]), {})


def _conditions_for(pk: int, chosen: dict[str, str]) -> dict[str, Any]:
    for name, value in chosen.items():
        if name == "state":
            return {"state": value, "reason": ""}
        if name == "not_sent":
            return {"state": Trigger.State.NOT_SENT, "reason": value}
        which = {"status": value} if name == "came_to" else {"reason": value}
        return {"pk__in": automation_counts.that_came_to(pk, **which)}
    return {}


def _in_words(chosen: dict[str, str]) -> str:
    for name, value in chosen.items():
        if name == "state":
            return str(Trigger.State(value).label)
        if name == "not_sent":
            return str(NotSent(value).label)
        label = end_in_words(value) if name == "came_to" else reasons.in_words(value)
        newest = _("of the newest {n} messages").format(n=f"{automation_counts.NEWEST:,}")
        return f"{label}, {newest}"
    return ""


def _lines(rows: list[Trigger]) -> list[Line]:
    people = Contact.objects.in_bulk({row.contact_id for row in rows})
    return [
        Line(
            row,
            people[row.contact_id].external_id if row.contact_id in people else "",
            str(NotSent(row.reason).label if row.reason else Trigger.State(row.state).label),
        )
        for row in rows
    ]
