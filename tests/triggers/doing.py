"""What people do, said through POST events, and what was decided about it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from campaigns import tasks
from campaigns.triggers.automation import Automation
from campaigns.triggers.trigger import Trigger
from tests.api.caller import Caller


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


def did(who: str, name: str = "added_to_cart", **values: Any) -> dict[str, Any]:
    at = values.pop("at", None)
    return {"contact": who, "name": name, **({"at": at.isoformat()} if at else {}), **values}


def tell(call: Caller, *events: dict[str, Any]) -> None:
    for first in range(0, len(events), 1_000):
        some = events[first : first + 1_000]
        answer = call.post("events", {"events": some})
        assert answer.status_code == 200, answer.content
        assert answer.json() == {"written": len(some), "duplicates": 0, "rejected": []}


def work() -> None:
    """All that workers would do now."""
    tasks.decide_triggers()
    tasks.send_messages()


def decisions(automation: Automation) -> Counter[str]:
    """How many triggers by their reason, or else their state."""
    rows = Trigger.objects.filter(automation=automation).values_list("state", "reason")
    return Counter(reason or state for state, reason in rows)
