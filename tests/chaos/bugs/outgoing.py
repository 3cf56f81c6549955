"""What F80 must notice."""

from __future__ import annotations

import uuid
from typing import Any

from tests.chaos.bug import bug, patch


@bug("a report is done before it is answered", fault="F80")
def _done_early() -> None:
    """Who dies with it in hand leaves nobody who would send it again."""
    from notifications.webhooks import claiming
    from notifications.webhooks.call import Call

    claim = claiming._claim

    def claim_and_end(*given: Any) -> list[Call]:
        calls = claim(*given)
        Call.objects.filter(pk__in=[call.pk for call in calls]).update(state=Call.State.ACCEPTED)
        return calls

    patch(claiming, "_claim", claim_and_end)


@bug("each try of a report has an id of its own", fault="F80")
def _named_anew() -> None:
    """What was taken, but not written down before the kill, comes again as something else."""
    from notifications.webhooks import composing

    webhook = composing.webhook

    def of_another_name(call: Any, **given: Any) -> Any:
        for event in call.events:
            event["id"] = f"evt_{uuid.uuid4().hex}"
        return webhook(call, **given)

    patch(composing, "webhook", of_another_name)
