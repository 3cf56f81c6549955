"""Sizes: how many devices a planned run will have, and in which time zones. Pages do not wait for
it: counting takes at most a few tenths of a second, and results are kept for some minutes.

A series has the size that its last run sent. Otherwise it is the number that would be sent to now,
as in the review.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import redis
from django.core.cache import cache
from django.core.exceptions import ValidationError

from campaigns.audiences import estimating, reach
from campaigns.audiences.reach import Reach, Zones
from campaigns.forecast.course import kinds
from campaigns.forecast.skips import expected_devices
from campaigns.forecast.solver.rules import PersonKind
from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import split_of, wordings
from campaigns.runs.run import Run
from notifications.postgres.budget import TooSlow, clock, until
from notifications.values import row_versions

COUNTING_SECONDS = 2.0  # per page, for all sizes that are not known yet
KEPT = 600  # seconds


@dataclass(frozen=True)
class Size:
    kinds: dict[PersonKind, int]  # devices; if time zones make no difference, all without one
    gets_it: int
    exact: bool  # False: from a part of the people, or from an earlier run


Counted = tuple[dict[PersonKind, int], bool]  # and whether it is exact


class Sizes:
    """The sizes for one page: each is looked up only once."""

    def __init__(self, campaign_ids: Collection[int]) -> None:
        self._last = last_sizes(campaign_ids)
        self._ends = clock() + COUNTING_SECONDS
        self._known: dict[str, Counted | None] = {}
        self._known_skips: dict[str, tuple[int, bool] | None] = {}

    def size_of(
        self, sent: Any, rules: dict[str, Any], at: datetime, *, rest: int | None = None
    ) -> Size | None:
        """Return the size of a campaign or run, `sent`, that starts at this time. `rest`: how many
        of its people still wait. None if nobody could count them in time."""
        campaign_id = sent.campaign.pk if isinstance(sent, Run) else sent.pk
        known_size = rest if rest is not None else self._last.get(campaign_id)
        if known_size is not None and not (sent.quiet_hours or sent.local_time):
            return Size({PersonKind(): known_size}, known_size, exact=rest is not None)
        counted = self._count_people(sent.project_id, rules, best_hours=by_best_hours(sent))
        if counted is None:
            return (
                None
                if known_size is None
                else Size({PersonKind(): known_size}, known_size, exact=False)
            )
        person_kinds, exact = counted
        everybody = sum(person_kinds.values())
        if known_size is None:
            campaign = sent.campaign if isinstance(sent, Run) else sent
            return self._sent_to(campaign, rules, at, Size(person_kinds, everybody, exact))
        return Size(person_kinds, min(known_size, everybody), exact=rest is not None)

    def _sent_to(self, campaign: Campaign, rules: dict[str, Any], at: datetime, all: Size) -> Size:
        """Subtract devices that are skipped for any reason but the clock: a plan covers that one.
        Subtract nothing if they could not be counted in time."""
        key = f"quota-skips-{campaign.pk}-{_cache_mark(campaign, rules, at)}"
        if key not in self._known_skips:
            self._known_skips[key] = self._count_skips(key, campaign, rules, at, all)
        lost = self._known_skips[key]
        if lost is None:
            return replace(all, exact=False)
        devices, exact = lost
        return Size(all.kinds, max(0, all.gets_it - devices), all.exact and exact)

    def _count_skips(
        self, key: str, campaign: Campaign, rules: dict[str, Any], at: datetime, all: Size
    ) -> tuple[int, bool] | None:
        with suppress(redis.RedisError):
            if isinstance(cached := cache.get(key), list):
                return cached[0], cached[1]
        if not expected_devices.is_readable(campaign):
            return None
        audience = Reach(0, 0, all.gets_it, {}, exact=all.exact)
        with suppress(ValidationError, TooSlow), until(self._ends):
            causes = expected_devices.causes(campaign, at, None)
            limit = estimating.SAMPLE_SECONDS
            lost = expected_devices.skips(campaign, rules, audience, causes, seconds=limit)
            if lost.devices is not None:
                with suppress(redis.RedisError):
                    cache.set(key, [lost.devices, lost.exact], KEPT)
                return lost.devices, lost.exact
        return None

    def _count_people(
        self, project_id: int, rules: dict[str, Any], *, best_hours: bool
    ) -> Counted | None:
        key = f"quota-{'hours' if best_hours else 'zones'}-{project_id}-{row_versions.mark(rules)}"
        if key not in self._known:
            zones = self._count_zones(key, project_id, rules, best_hours=best_hours)
            self._known[key] = (kinds(zones.clocks), zones.exact) if zones else None
        return self._known[key]

    def _count_zones(
        self, key: str, project_id: int, rules: dict[str, Any], *, best_hours: bool
    ) -> Zones | None:
        with suppress(redis.RedisError):
            if isinstance(cached := cache.get(key), list):
                return Zones({(zone, hour): n for zone, hour, n in cached[0]}, cached[1])
        with suppress(ValidationError, TooSlow), until(self._ends):
            seconds = estimating.SAMPLE_SECONDS
            zones = reach.zones(project_id, rules, seconds=seconds, best_hours=best_hours)
            with suppress(redis.RedisError):
                rows = [[zone, hour, n] for (zone, hour), n in zones.clocks.items()]
                cache.set(key, [rows, zones.exact], KEPT)
            return zones
        return None


def _cache_mark(campaign: Campaign, rules: dict[str, Any], at: datetime) -> str:
    """Return a cache mark of everything that decides who is skipped, except what people do."""
    texts = [
        [wording.number, wording.weight, wording.template.updated_at]
        for wording in wordings(campaign)
    ]
    caps, by_chance = campaign.caps, split_of(campaign)
    # By the hour: what people got drops out of the caps' periods bit by bit.
    hour = at.replace(minute=0, second=0, microsecond=0) if caps and caps.holds else None
    chance = [by_chance.control, by_chance.holdout]
    decides = [rules, texts, campaign.asks, campaign.once_each, chance, repr(caps), hour]
    return row_versions.mark([*decides, campaign.precedence])


def by_best_hours(sent: Any) -> bool:
    if isinstance(sent, Run):
        return sent.local_time is not None and sent.local_time.best_hour
    return bool(sent.local_time and sent.best_hour)


def last_sizes(campaign_ids: Iterable[int]) -> dict[int, int]:
    """Return how many devices each campaign's last run was sent to."""
    ended = Run.objects.filter(
        campaign__in=[*campaign_ids], state=Run.State.FINISHED, planned__gt=0
    )
    newest = ended.order_by("campaign_id", "-pk").distinct("campaign_id")
    rows = newest.values_list("campaign_id", "planned", "skipped")
    return {campaign: (planned or 0) - skipped for campaign, planned, skipped in rows}
