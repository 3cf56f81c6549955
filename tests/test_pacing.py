"""One gate for all processes: never above the limit, never open when Redis is away."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from notifications import pacing
from notifications.pacing import Limit, LocalBucket, limits_of, take
from notifications.project import Project


def test_a_new_bucket_starts_empty_so_that_a_flush_bursts_nothing() -> None:
    granted, wait = take(100, [Limit("gate:test", 10)])
    assert granted == 0
    assert 0 < wait <= 0.1


def test_the_tightest_limit_decides_and_a_refusal_costs_the_others_nothing() -> None:
    wide, narrow = Limit("gate:wide", 1_000_000), Limit("gate:narrow", 0.001)
    take(1, [wide, narrow])

    granted, _ = take(100, [wide, narrow])

    assert granted == 0
    assert take(100, [wide])[0] == 100


def test_we_use_four_fifths_of_the_projects_quota_and_the_runs_rate_below_it() -> None:
    project = Project(pk=7, quota_per_minute=600_000)
    quota, own = limits_of(project, reference="run:81", rate=200)
    assert (quota.rate, own.rate) == (8_000, 200)
    assert limits_of(project, reference="run:81", rate=None) == [quota]


def test_without_redis_each_process_keeps_to_its_share(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GATE_URL = "redis://127.0.0.1:1/0"
    settings.WORKERS = 4
    pacing._script.cache_clear()
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    try:
        assert take(1_000, [Limit("gate:alone", 400)])[0] == 0
        clock[0] += 0.5
        assert take(1_000, [Limit("gate:alone", 400)])[0] == 50
        clock[0] += 60
        assert take(1_000, [Limit("gate:alone", 400)])[0] == 100, "one second's worth at most"
    finally:
        pacing._script.cache_clear()


def test_a_local_bucket_of_a_slow_campaign_still_lets_one_through() -> None:
    bucket = LocalBucket(at=0.0)
    assert bucket.grant(5, rate=0.5, now=1.0) == 0
    assert bucket.grant(5, rate=0.5, now=2.0) == 1
