"""The task that evaluates alerts, once a minute."""

from __future__ import annotations

from campaigns.alerts import evaluation
from notifications.postgres import clock
from notifications.postgres.outage import retry_during_outage
from notifications.task_queue import background_task

EXPIRES = 60  # seconds; then the sweep has enqueued it again


# The name that release 0.1.0 knows: its workers may run beside these.
@background_task(name="campaigns.tasks.judge_alerts")
def evaluate_alerts() -> None:
    """Raise and end alerts, and send what changed."""
    evaluation.evaluate_alerts(retry_during_outage(clock.now, seconds=0))
