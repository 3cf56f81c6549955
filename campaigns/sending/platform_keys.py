"""A platform's key: what FCM refuses for want of it is held back, and everything else goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.sending.left import Left
from notifications.gateway import Outcome, Verdict
from notifications.people.device import Device
from notifications.postgres.outage import patiently

ALL_REFUSED = 10


def to_hold(
    run: Run, by_reference: Mapping[str, Left], outcomes: Iterable[Outcome], in_a_row: Counter[str]
) -> set[str]:
    """Platforms of which FCM refuses everything for want of a key; the others go on.

    `in_a_row` counts refusals over windows: of a small platform, each window has few.
    """
    accepted, refused = Counter[str](), Counter[str]()
    for outcome in outcomes:
        platform = by_reference[outcome.reference].reader.platform
        accepted[platform] += outcome.verdict is Verdict.ACCEPTED
        refused[platform] += outcome.verdict is Verdict.PLATFORM_KEY
    for platform, count in refused.items():
        in_a_row[platform] = 0 if accepted[platform] else in_a_row[platform] + count
    return {
        platform
        for platform in +refused
        if not accepted[platform]
        and (in_a_row[platform] >= ALL_REFUSED or _never_worked(run, platform))
    }


def _never_worked(run: Run, platform: str) -> bool:
    """Nothing of it accepted yet. Else it is one odd device (a test build, another app); so it is
    after a resume, when a person says that the key is there."""
    if Cause.PLATFORM_KEY in run.overruled:
        return False
    of_platform = Device.objects.filter(platform=platform).values("pk")
    accepted = Delivery.objects.filter(run_id=run.pk, status=Delivery.Status.ACCEPTED)
    return not patiently(accepted.filter(device_id__in=of_platform).exists)
