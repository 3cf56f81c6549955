"""Sharing: how many people each variant, the control group and the holdout will have, and how many
it takes to see a difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from campaigns.audiences.reach import Reach
from campaigns.engagement import certainty
from campaigns.engagement.funnel import opened
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.runs.variants.group import REST, gets_a_text, in_words, name_of
from campaigns.runs.variants.split import Split
from notifications.values.shares import share

LATELY = 10  # runs whose opens show what is usual
ENOUGH = 500  # devices that can report opens, together
COMMON = 0.04  # the share opened, if no run shows what is usual
A_QUARTER = 1.25  # more: the difference that people should see


@dataclass(frozen=True)
class Share:
    """One group of people, as a launch now is expected to have it."""

    group: int
    text: str
    part: float  # of everybody, 0 to 1
    people: int
    devices: int

    @property
    def words(self) -> str:
        return in_words(self.group)

    @property
    def name(self) -> str:
        return name_of(self.group)

    @property
    def share(self) -> str:
        return share(round(10_000 * self.part), 10_000)

    @property
    def width(self) -> str:
        return f"{self.part:.4f}"


def shares(split: Split, texts: Mapping[int, str], found: Reach | None) -> list[Share]:
    """Return the share of each group; empty if everybody gets the same text."""
    parts = split.shares()
    if len(parts) == 1:
        return []
    people, devices = (found.people, found.devices) if found else (0, 0)
    named = {REST: _("the variant that does best"), **texts}
    return [
        Share(
            group, named.get(group, _("nothing")), part, round(people * part), round(devices * part)
        )
        for group, part in parts.items()
    ]


def usual(project_id: int) -> float:
    """Return which share of recent runs is opened, among devices that can report it."""
    ended = Run.objects.filter(project=project_id, state=Run.State.FINISHED).order_by("-pk")
    open_counts = opened(list(ended[:LATELY])).values()
    able = sum(run_opens.able or 0 for run_opens in open_counts)
    count = sum(run_opens.count for run_opens in open_counts if run_opens.able)
    return count / able if able >= ENOUGH and 0 < count < able / A_QUARTER else COMMON


def enough(campaign: Campaign, found: list[Share]) -> str:
    """Say how many people each variant needs before a difference of a quarter can be sure."""
    texts = [
        group_share
        for group_share in found
        if gets_a_text(group_share.group) and group_share.group != REST
    ]
    if len(texts) < 2:
        return ""
    now = usual(campaign.project_id)
    more, least = now * A_QUARTER, min(group_share.people for group_share in texts)
    needs = certainty.needed(now, more, comparisons=len(texts) - 1)
    text = _(
        "To see %(more)s %% opened against %(now)s %%, about %(needs)s people are needed in each "
        "variant whose app tells what is opened. The smallest will have about %(least)s people."
    )
    in_percent = {name: share(round(10_000 * part), 10_000) for name, part in
                  (("more", more), ("now", now))}  # fmt: skip
    return text % {**in_percent, "needs": f"{_rounded(needs):,}", "least": f"{least:,}"}


def _rounded(number: int) -> int:
    """Round to two digits: more would suggest too much precision."""
    digits = max(0, len(str(number)) - 2)
    return round(number, -digits)
