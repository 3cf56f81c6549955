"""Platform keys: holds a platform back if Firebase lacks its key; other platforms go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.sending.unsettled import UnsettledRecipient
from notifications.gateway import Outcome, Verdict
from notifications.people.device import Device

REFUSED_SO_OFTEN = 10


def refused(
    by_reference: Mapping[str, UnsettledRecipient],
    outcomes: Iterable[Outcome],
    in_a_row: Counter[str],
) -> Counter[str]:
    """Platforms for which FCM refuses everything because a key is missing, and how often in a row.

    `in_a_row` counts refusals over several windows: each has few recipients of a small platform.
    """
    accepted, refusals = Counter[str](), Counter[str]()
    for outcome in outcomes:
        platform = by_reference[outcome.reference].reader.platform
        accepted[platform] += outcome.verdict is Verdict.ACCEPTED
        refusals[platform] += outcome.verdict is Verdict.PLATFORM_KEY
    for platform, count in refusals.items():
        in_a_row[platform] = 0 if accepted[platform] else in_a_row[platform] + count
    return Counter({name: in_a_row[name] for name in +refusals if not accepted[name]})


def is_missing(run: Run, platform: str, refused: Counter[str]) -> bool:
    """Whether the key is missing: FCM refused often, or has accepted nothing of the platform yet.

    Otherwise one device is at fault (a test build, another app). After a resume, a person says that
    the key is there: then only many refusals count.
    """
    if refused[platform] >= REFUSED_SO_OFTEN:
        return True
    if Cause.PLATFORM_KEY in run.overruled:
        return False
    of_platform = Device.objects.filter(platform=platform).values("pk")
    accepted = Delivery.objects.filter(run_id=run.pk, status=Delivery.Status.ACCEPTED)
    return not accepted.filter(device_id__in=of_platform).exists()
