"""What the gate remembers in Redis, for how long, and what becomes of it when damaged."""

from __future__ import annotations

import pytest
import redis
from django.conf import settings

from notifications.pacing import gate
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.pacing.gate import Limit
from notifications.people.project import Project
from tests.given.fleet import Fleet

ONE_FIELD_LESS = """
local gate = cmsgpack.unpack(redis.call('GET', KEYS[1]))
gate.in_a_row = nil
redis.call('SET', KEYS[1], cmsgpack.pack(gate))
"""
A_REFERENCE_OF_NOTHING = ONE_FIELD_LESS.replace("gate.in_a_row = nil", "gate.refs.x = {}")


def a_fleet() -> Fleet:
    return Fleet(Project(pk=1, quota_per_minute=6_000, ramp_seconds=0))


@pytest.fixture
def gate_key() -> str:
    return gate._key(a_fleet().project)


def the_redis() -> redis.Redis:
    return redis.Redis.from_url(settings.GATE_URL)


def it_starts_anew() -> None:
    fleet = a_fleet()
    [process] = fleet.add("run:1")
    fleet.now += 60
    grant = process.take()
    assert (grant.granted, grant.limit) == (0, Limit.QUOTA)
    assert grant.wait == pytest.approx(0.25, rel=0.1)
    fleet.run(10)
    assert fleet.rate(last=5) == pytest.approx(80, rel=0.05)


# --- For how long ---------------------------------------------------------------------------------


def test_a_closure_of_hours_is_obeyed_though_nobody_asks_meanwhile(gate_key: str) -> None:
    fleet = a_fleet()
    [process] = fleet.add("run:1")
    wait = process.gate.take(1, AnswerCounts(pushed_back=1, retry_after=7_200)).wait
    assert 7_200 <= wait <= 7_200 * 1.1
    assert the_redis().ttl(gate_key) > wait, "its memory outlasts it"


def test_a_closure_without_end_ends_with_the_longest_that_fcm_keeps_a_message() -> None:
    [process] = a_fleet().add("run:1")
    wait = process.gate.take(1, AnswerCounts(pushed_back=1, retry_after=1e12)).wait
    assert 28 * 86_400 <= wait <= 28 * 86_400 * 1.1


def test_an_outage_is_remembered_until_the_next_try(gate_key: str) -> None:
    [process] = a_fleet().add("run:1")
    wait = process.gate.take(1, AnswerCounts(failing=9, failing_for=7_200)).wait
    assert the_redis().ttl(gate_key) > wait >= 7_200


# --- A clock that goes back -----------------------------------------------------------------------


def test_a_clock_that_goes_back_forgets_no_retry_after() -> None:
    fleet = a_fleet()
    teller, other = fleet.add("run:1", count=2)
    wait = teller.gate.take(0, AnswerCounts(pushed_back=1, retry_after=600)).wait
    fleet.now -= 3_600
    told = other.take()
    assert (told.granted, told.limit) == (0, Limit.RETRY_AFTER)
    assert told.wait == pytest.approx(wait)


def test_a_clock_that_goes_back_forgets_no_outage_nor_how_rarely_it_is_tried() -> None:
    fleet = a_fleet()
    teller, other = fleet.add("run:1", count=2)
    teller.gate.take(0, AnswerCounts(failing=9))
    fleet.now -= 3_600
    wait = other.take().wait
    assert 10 <= wait <= 11
    fleet.now += wait
    assert other.take().is_trial
    assert 20 <= other.gate.take(9, AnswerCounts(failing=1)).wait <= 22


# --- Damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("junk", [b"junk", b"", b"\x81\xa2at\x00", b"\xc0"])
def test_a_memory_that_cannot_be_read_is_a_cold_start(gate_key: str, junk: bytes) -> None:
    the_redis().set(gate_key, junk)
    it_starts_anew()


@pytest.mark.parametrize("damage", [ONE_FIELD_LESS, A_REFERENCE_OF_NOTHING])
def test_a_memory_that_lacks_a_field_is_a_cold_start(gate_key: str, damage: str) -> None:
    fleet = a_fleet()
    fleet.add("run:1")
    fleet.run(10)
    the_redis().eval(damage, 1, gate_key)
    it_starts_anew()


def test_a_key_that_somebody_else_used_is_a_cold_start(gate_key: str) -> None:
    the_redis().rpush(gate_key, "a list")
    it_starts_anew()
