"""Of each of a campaign's settings another value than a new one has, typed, kept and said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from notifications.people.consent.category import Category
from notifications.people.project import Project


@dataclass(frozen=True)
class Otherwise:
    """What a person types, what is kept of it, and how a page says that."""

    typed: str | list[str]
    kept: Any
    said: str


OTHERWISE = {
    "schedule_kind": Otherwise("at", "at", "At a time"),
    "repeat": Otherwise("daily", "daily", "Every day"),
    "cron": Otherwise("0 9 * * mon", "0 9 * * mon", "0 9 * * mon"),
    "every": Otherwise("3", 3, "3"),
    "on_days": Otherwise("last_day", "last_day", "On the month's last day"),
    "weekdays": Otherwise(["mon", "fri"], "mon,fri", "Monday, Friday"),
    "days_off": Otherwise("2031-12-25", "2031-12-25", "2031-12-25"),
    "at": Otherwise("2031-01-01T09:00", datetime(2031, 1, 1, 9, tzinfo=UTC), ""),
    "until": Otherwise("2032-01-01T09:00", datetime(2032, 1, 1, 9, tzinfo=UTC), ""),
    "timezone": Otherwise("Asia/Tokyo", "Asia/Tokyo", "Asia/Tokyo"),
    "local_time": Otherwise("on", True, "Yes"),
    "best_hour": Otherwise("on", True, "Yes"),
    "passed": Otherwise("skip", "skip", "They get nothing"),
    "zoneless": Otherwise("campaign", "campaign", "They go by the time zone above"),
    "max_lateness_seconds": Otherwise("5 min", 300, "5 min"),
    "rate_per_second": Otherwise("7", 7, "7"),
    "spread_seconds": Otherwise("10 min", 600, "10 min"),
    "opens_per_second": Otherwise("40", 40, "40"),
    "ttl_seconds": Otherwise("2 h", 7_200, "2 h"),
    "first_percent": Otherwise("10", 10, "10 %"),
    "first_least": Otherwise("700", 700, "700"),
    "first_wait_seconds": Otherwise("5 min", 300, "5 min"),
    "first_most_rejected": Otherwise("7", 7, "7 %"),
    "first_most_dead": Otherwise("8", 8, "8 %"),
    "first_least_received": Otherwise("40", 40, "40 %"),
    "winner_by": Otherwise("opened", "opened", "The variant that more people opened"),
    "no_winner": Otherwise("split", "split", "Split the rest among the variants"),
    "on_unknown": Otherwise("hold", "hold", "Never send twice"),
    "inbox": Otherwise("on", True, "Yes"),
    "control_percent": Otherwise("10", 10, "10"),
    "past_holdout": Otherwise("on", True, "Yes"),
    "past_caps": Otherwise("on", True, "Yes"),
    "once_each": Otherwise("on", True, "Yes"),
    "precedence": Otherwise("high", "high", "High"),
    "goal_event": Otherwise("bought", "bought", "bought"),
    "goal_within_seconds": Otherwise("2 h", 7_200, "2 h"),
    "goal_after": Otherwise("received", "received", "Received"),
    "goal_value": Otherwise("price", "price", "price"),
    "analytics_label": Otherwise("tea", "tea", "tea"),
}


def otherwise(name: str, project: Project) -> Otherwise:
    """The same of any setting; a category has to be made first, in the project."""
    if name != "category":
        return OTHERWISE[name]
    made = Category.objects.create(project=project, name="Receipts", slug="receipts")
    return Otherwise(str(made.pk), made, "Receipts")
