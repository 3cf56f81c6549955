"""Webhook events of an alert, put into the outbox in the transaction that changes the alert."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from campaigns.alerts.models import Alert
from notifications.webhooks import outbox
from notifications.webhooks.composing import address
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Event, written


def send_raised(alert: Alert, now: datetime) -> int:
    """Returns how many endpoints get it."""
    return _put(alert, EventType.ALERT_RAISED, now)


def send_ended(alert: Alert, now: datetime) -> int:
    return _put(alert, EventType.ALERT_ENDED, now)


def _put(alert: Alert, kind: EventType, now: datetime) -> int:
    campaign = alert.run.campaign_id if alert.run else None
    return outbox.put(alert.project_id, [Event(kind, now, alert_data(alert))], about=campaign)


def alert_data(alert: Alert) -> dict[str, Any]:
    """Codes and numbers. `texts.py` makes texts from them, in each reader's language."""
    run = alert.run
    campaign = run.campaign if run else None  # none for messages to single people
    return {
        "alert": alert.pk,
        "kind": alert.kind,
        "run": run and run.pk,
        "campaign": {"id": campaign.pk, "name": campaign.name} if campaign else None,
        "numbers": alert.numbers,
        "reminder": alert.told_at is not None and alert.is_open,
        "raised_at": written(alert.raised_at),
        "acknowledged_at": alert.acknowledged_at and written(alert.acknowledged_at),
        "acknowledged_by": alert.acknowledged_by or None,
        "ended_at": alert.ended_at and written(alert.ended_at),
        "url": address(_page(alert)) or None,
    }


def _page(alert: Alert) -> str:
    """Where it is shown and can be acknowledged. Workers have no URL configuration."""
    if alert.run and alert.run.campaign_id:
        return f"/admin/campaigns/run/{alert.run_id}/change/"
    return f"/admin/alerts/{alert.pk}/"
