"""How a project's messages stand: what waits, and what the day has come to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, Min

from campaigns.results.reports import in_plain_words, reasons_of
from campaigns.runs.messages import outcome
from campaigns.runs.messages.day import open_runs
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.runs.sums import Totals, totals_of
from notifications.people.project import Project

NOTHING = Totals(0, 0, 0, 0, 0)


def sends_messages(project: Project) -> bool:
    return bool(Run.every.filter(project=project, kind=Run.Kind.MESSAGES).exists())


def numbers_of(project: Project, now: datetime) -> dict[str, Any]:
    today = _today(project, now)
    reasons = in_plain_words(reasons_of(today)) if today else []
    return {**stand_of(project, now), "reasons": reasons}


def stand_of(project: Project, now: datetime) -> dict[str, Any]:
    """The same without the reasons, which are read from every chunk of the day."""
    today = _today(project, now)
    return {"totals": totals_of(today) if today else NOTHING, **_waiting(project, now)}


def _today(project: Project, now: datetime) -> Run | None:
    ours = Run.every.filter(project=project, kind=Run.Kind.MESSAGES)
    return ours.filter(occurrence=since(now).date().isoformat()).first()


def since(now: datetime) -> datetime:
    """When today began: the day is that of UTC, as its run's is."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def waits(numbers: dict[str, Any] | None) -> bool:
    """Whether something may leave any moment, so that the page is to ask again."""
    return numbers is not None and bool(numbers["due"] or numbers["totals"].waiting)


def _waiting(project: Project, now: datetime) -> dict[str, Any]:
    """What could leave, of every day that is still open, and what is for later."""
    days = list(open_runs().filter(project=project).values_list("pk", flat=True))
    rows = Message.objects.filter(run_id__in=days, state=Message.State.WAITING)
    blocks = list(outcome.blocks(days).values())
    due = rows.filter(at__lte=now).aggregate(count=Count("number"), oldest=Min("at"))
    age: timedelta | None = now - due["oldest"] if due["oldest"] else None
    later = rows.filter(at__gt=now).count()
    return {
        "due": due["count"],
        "oldest": age,
        "later": later,
        "blocked": blocks[-1] if blocks else None,
    }
