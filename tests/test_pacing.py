"""One gate for all processes: never above the limit, never open when Redis is away."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from notifications import pacing, pacing_alone
from notifications.pacing import Gate, Heard, Limit
from notifications.project import Project

NOTHING = Heard()


def test_a_new_bucket_starts_empty_so_that_a_flush_bursts_nothing() -> None:
    project = Project(pk=1, quota_per_minute=750, ramp_seconds=0)
    grant = Gate(project, reference="run:1").take(100, NOTHING)
    assert grant.granted == 0
    assert 0 < grant.wait <= pacing.LONGEST_WAIT


def test_without_redis_each_process_keeps_to_its_share(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GATE_URL = "redis://127.0.0.1:1/0"
    settings.WORKERS = 4
    pacing._script.cache_clear()
    monkeypatch.setattr(pacing_alone, "_shares", {})
    clock = [100.0]
    project = Project(pk=1, quota_per_minute=30_000)
    gate = Gate(project, reference="run:1", clock=lambda: clock[0])
    try:
        assert gate.take(1_000, NOTHING) == pacing.Grant(0, pacing.WAIT_ALONE, Limit.LOCAL)
        clock[0] += 0.5
        assert gate.take(1_000, NOTHING).granted == 50
        clock[0] += 60
        assert gate.take(1_000, NOTHING).granted == 100, "one second's worth at most"
    finally:
        pacing._script.cache_clear()
