"""The task of a test send."""

from __future__ import annotations

from campaigns.test_sends import sending
from notifications.postgres import clock
from notifications.postgres.outage import retry_during_outage
from notifications.task_queue import background_task


# The name that release 0.1.0 knows: its workers may run beside these.
@background_task(name="campaigns.tasks.send_test")
def send_test(test_id: int) -> None:
    """Send a test to the devices that may be sent to now."""
    sending.send_test(test_id, retry_during_outage(clock.now))
