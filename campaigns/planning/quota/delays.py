"""Pushing out: which of the planned runs would end later beside one more, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from campaigns.planning.campaign import Campaign
from campaigns.planning.course.forecast import foretell
from campaigns.planning.quota.firebase import Firebase
from campaigns.planning.quota.planned import Planned, beside, planned
from campaigns.planning.quota.shared_gate import Asks, Goes, together
from campaigns.planning.solver.rules import Alike, Rules

MOST_MESSAGES = 1_000_000_000
AN_HOUR = timedelta(hours=1)
WORTH_SAYING = timedelta(seconds=5)
TTL = timedelta(days=28)  # of messages that nobody has written yet: the longest that FCM takes


@dataclass(frozen=True)
class Pushed:
    """One that ends later, or for which it gets too late."""

    planned: Planned
    ends_at: datetime  # then
    later: timedelta
    fewer: int  # who would get nothing, as it expires before their turn


@dataclass(frozen=True)
class Outcome:
    """What another run would bring about."""

    goes: Goes
    alone_ends_at: datetime | None  # if nothing else were planned
    pushed: list[Pushed]

    @property
    def ends_at(self) -> datetime | None:
        return self.goes.ends_at


def with_another(
    asks: Asks, there: Firebase, now: datetime, *, of: Campaign | None = None
) -> Outcome:
    """`of`: what is planned of this campaign already goes away."""
    start = asks.rules.start
    [alone] = together([asks], there.gate)
    lasts = (alone.ends_at or start) - start  # beside others, it takes longer
    found = planned(there, start, start + 2 * lasts + AN_HOUR, now)
    others = [one for one in found if one.asks and (of is None or one.campaign.pk != of.pk)]
    *then, goes = together([*(one.asks for one in others if one.asks), asks], there.gate)
    return Outcome(goes, alone.ends_at, slower(beside(others, there), then))


def messages(count: int, at: datetime, there: Firebase) -> Asks:
    """So many at once, as fast as a campaign without a rate of its own would go."""
    rate = min(foretell(there.projects[0], None, count).rate, there.gate.full)
    return Asks({Alike(): count}, count, Rules(start=at, ttl=TTL), rate)


def _pushed(one: Planned, after: Goes) -> Pushed | None:
    before = one.goes
    if before is None or before.ends_at is None or after.ends_at is None:
        return None
    later, fewer = after.ends_at - before.ends_at, before.sent - after.sent
    if later < WORTH_SAYING and fewer <= 0:
        return None
    return Pushed(one, after.ends_at, max(later, timedelta()), max(0, fewer))


def slower(before: Sequence[Planned], after: Sequence[Goes | None]) -> list[Pushed]:
    """Of these, those that end later then; None: nobody could count them."""
    found = [_pushed(one, goes) for one, goes in zip(before, after, strict=True) if goes]
    return [one for one in found if one]
