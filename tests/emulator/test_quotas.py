from __future__ import annotations

from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any

import pytest

from emulator.google.envelopes import Refused
from emulator.service.quotas import DeviceQuotas, ProjectQuota
from emulator.settings import Settings
from tests.emulator.running import RunningEmulator

PROJECT = "carillon-demo"
SHOWN: dict[str, Any] = {"token": "a", "notification": {"title": "x"}}
NOON = 1_790_000_000.0


def quota(per_minute: int, *, retry_after: str = "mixed", seed: int = 1) -> ProjectQuota:
    settings = Settings(quota_per_minute=per_minute, quota_retry_after=retry_after)
    return ProjectQuota((PROJECT, "another"), settings, processes=1, seed=seed)


def take_all(bucket: ProjectQuota, now: float) -> int:
    taken = 0
    while True:
        try:
            bucket.take(PROJECT, now=now)
        except Refused:
            return taken
        taken += 1


def head_of(bucket: ProjectQuota, now: float) -> str:
    with pytest.raises(Refused) as refused:
        bucket.take(PROJECT, now=now)
    return refused.value.answer.reply.head.decode()


# --- the project


def test_beyond_the_quota_the_front_end_refuses_without_an_fcm_error(
    emulator: RunningEmulator,
) -> None:
    emulator.settings(quota_per_minute=1, quota_retry_after="seconds")
    token = emulator.token()
    emulator.send({"token": "a"}, token=token)
    refused = emulator.send({"token": "a"}, token=token)
    assert (refused.status, refused.error_codes) == (429, [])
    info, link = refused.json["error"]["details"]
    assert info["reason"] == "RATE_LIMIT_EXCEEDED"
    assert info["metadata"]["quota_limit"] == "SendsPerMinutePerProject"
    assert info["metadata"]["quota_limit_value"] == "1"
    assert link["@type"].endswith("Help")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert len(emulator.witnessed()) == 1


def test_a_refused_message_uses_quota_and_a_429_does_not(emulator: RunningEmulator) -> None:
    emulator.settings(quota_per_minute=100)
    token = emulator.token()
    for address in ("a", "dead-1", "malformed-1", "overload-1", "limited-1"):
        emulator.send({"token": address}, token=token)
    emulator.send_text("{", token=token)
    emulator.send({"token": "a"}, token="unknown")
    assert emulator.counts()["quota_used"] == {"carillon-demo": 4, "carillon-other": 0}


def test_the_bucket_refills_whole_once_a_minute() -> None:
    bucket = quota(6)
    refills = [second for second in range(180) if take_all(bucket, NOON + second)]
    assert refills[0] == 0
    assert {later - earlier for earlier, later in pairwise(refills[1:])} == {60}
    assert len(refills) >= 3


def test_its_minute_is_not_the_clocks() -> None:
    def seconds_to_refill(seed: int) -> int:
        bucket = quota(1, retry_after="seconds", seed=seed)
        take_all(bucket, 0.0)
        return int(head_of(bucket, 0.0).partition("Retry-After: ")[2].split()[0])

    phases = {seconds_to_refill(seed) for seed in range(20)}
    assert len(phases) > 10
    assert not phases & {0, 60}


def test_two_projects_have_a_bucket_each() -> None:
    bucket = quota(1)
    assert take_all(bucket, NOON) == 1
    bucket.take("another", now=NOON)


def test_retry_after_comes_as_seconds_as_a_date_and_not_at_all() -> None:
    bucket = quota(1)
    take_all(bucket, NOON)
    heads = [head_of(bucket, NOON) for _ in range(40)]
    values = {head.partition("Retry-After: ")[2].partition("\r\n")[0] for head in heads}
    dates = {value for value in values if value.endswith("GMT")}
    assert "" in values
    assert len(dates) == 1
    seconds = parsedate_to_datetime(dates.pop()).timestamp() - NOON
    assert {int(value) for value in values if value.isdecimal()} == {int(seconds)}


# --- the device


def messages_until_refused(quotas: DeviceQuotas, message: dict[str, Any], now: float) -> int:
    for count in range(10_000):
        try:
            quotas.take("a", message, now=now)
        except Refused:
            return count
    raise AssertionError("never refused")


def test_a_device_takes_240_messages_a_minute() -> None:
    quotas = DeviceQuotas()
    assert messages_until_refused(quotas, {"data": {}}, NOON) == 240
    assert messages_until_refused(quotas, {"data": {}}, NOON + 59) == 0
    assert messages_until_refused(quotas, {"data": {}}, NOON + 60) == 240
    quotas.take("b", {"data": {}}, now=NOON)


def test_a_device_takes_5000_messages_an_hour() -> None:
    quotas = DeviceQuotas()
    taken = [messages_until_refused(quotas, {}, NOON + 60 * minute) for minute in range(61)]
    assert sum(taken[:60]) == 5_000
    assert taken[60] == 240


def test_what_collapses_comes_in_a_burst_of_20_and_then_every_three_minutes() -> None:
    quotas = DeviceQuotas()
    assert messages_until_refused(quotas, SHOWN, NOON) == 20
    assert messages_until_refused(quotas, SHOWN, NOON + 179) == 0
    assert messages_until_refused(quotas, SHOWN, NOON + 181) == 1
    assert messages_until_refused(quotas, SHOWN | {"android": {"ttl": 0.0}}, NOON + 181) > 200


def test_a_device_with_too_many_is_named_in_the_refusal(emulator: RunningEmulator) -> None:
    emulator.settings(device_quotas=True)
    token = emulator.token()
    answers = [emulator.send(SHOWN, token=token) for _ in range(21)]
    assert [answer.status for answer in answers] == [200] * 20 + [429]
    failure = answers[-1].json["error"]["details"][1]
    assert failure["@type"].endswith("QuotaFailure")
    assert failure["violations"][0]["subject"] == "device:a"
    assert emulator.send(SHOWN | {"token": "b"}, token=token).status == 200
