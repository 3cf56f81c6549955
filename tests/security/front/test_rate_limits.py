"""How often a program may call, for each key and each address; and a visitor without a log-in."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from typing import Any

import pytest
import redis
from django.conf import LazySettings, settings
from django.test import Client
from django.urls import reverse
from redis.connection import AbstractConnection

from config.middleware import rate_limits
from config.middleware.rate_limits import Limit, Limits
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from notifications.staff.team import Role
from tests.api import promised
from tests.api.caller import Caller
from tests.config.manage_check import ROOT, check
from tests.given.builders import make_project
from tests.roles.people import logged_in
from tests.servers.relay import Relay

pytestmark = pytest.mark.django_db
HERE, THERE = "203.0.113.9", "198.51.100.7"
POLICY = re.compile(r'"(key|address)";q=(\d+);w=(\d+)')


class Clock:
    """It stands still, however slow the machine is."""

    now = 1_000_000.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    rate_limits.Outage.is_there = False
    clock = Clock()
    monkeypatch.setattr(rate_limits, "clock", lambda: str(clock.now))
    return clock


@pytest.fixture
def ours(db: None) -> Project:
    return make_project()


@pytest.fixture
def slow(settings: LazySettings) -> None:
    """Two a second for each key, three for each address: 4 and 6 at once."""
    settings.API_RATE_PER_KEY, settings.API_RATE_PER_ADDRESS = 2, 3
    settings.PAGE_RATE_PER_ADDRESS = 1


def call(key: str = "", address: str = HERE, path: str = "/api/v1/runs") -> Any:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return Client().get(path, headers=headers, REMOTE_ADDR=address)


def statuses(times: int, *arguments: str, **named: str) -> list[int]:
    return [call(*arguments, **named).status_code for _ in range(times)]


def a_key(project: Project) -> str:
    return ApiKey.issue(project, "test")[1]


def test_a_key_that_calls_too_often_is_told_when_to_come_back(slow: None, ours: Project) -> None:
    key = a_key(ours)
    assert statuses(5, key) == [200] * 4 + [429]
    reply = call(key, THERE)
    assert reply.status_code == 429, "from wherever it calls"
    assert reply["Content-Type"] == "application/problem+json"
    assert reply["Retry-After"] == "1"
    body = reply.json()
    assert (body["type"], body["status"]) == ("urn:carillon:too-many-requests", 429)
    assert "2 a second" in body["detail"] and "API key" in body["detail"]
    assert call(a_key(ours), THERE).status_code == 200, "another key is free"


def test_a_key_is_the_same_however_it_is_spelled(slow: None, ours: Project) -> None:
    key = a_key(ours)
    spellings = [f"Bearer {key}", f"Bearer   {key}", f"bearer {key}", f"BEARER {key} "]
    calls = [spellings[number % 4] for number in range(5)]
    found = [
        Client().get("/api/v1/runs", headers={"Authorization": shown}, REMOTE_ADDR=HERE)
        for shown in calls
    ]
    assert [reply.status_code for reply in found] == [200] * 4 + [429]


def test_an_address_is_limited_before_anybody_looks_at_its_key(
    slow: None, ours: Project, django_assert_num_queries: Any
) -> None:
    guesses = [call(f"car_{number:043d}").status_code for number in range(8)]
    assert guesses == [401] * 6 + [429] * 2
    with django_assert_num_queries(0):
        assert call(a_key_of_nobody()).status_code == 429
    assert statuses(2) == [429] * 2, "nor does it help to show none"
    assert call(address=THERE).status_code == 401


def a_key_of_nobody() -> str:
    return "car_" + "x" * 43


def test_an_ipv6_network_counts_as_one_address(slow: None) -> None:
    found = [call(address=f"2001:db8::{number}").status_code for number in range(1, 8)]
    assert found == [401] * 6 + [429]


def test_a_refused_call_uses_nothing_up(slow: None, ours: Project) -> None:
    """Else a program that keeps asking would never be let in again."""
    key = a_key(ours)
    statuses(6, key)
    reply = call(key)
    assert reply.status_code == 429
    assert '"address";r=' in reply["RateLimit"] and '"address";r=0' not in reply["RateLimit"]


@pytest.mark.parametrize(
    "path", ["/api/v1/runs", "/api/v1/nowhere", "/api/nowhere", "/api/schema/", "/api/docs/"]
)
def test_every_answer_of_the_api_says_what_is_left(path: str, ours: Project) -> None:
    reply = call(a_key(ours), path=path)
    policies = {name: (int(q), int(w)) for name, q, w in POLICY.findall(reply["RateLimit-Policy"])}
    assert policies == {"key": (2000, 2), "address": (2000, 2)}
    assert reply["RateLimit"] == '"key";r=1999;t=1, "address";r=1999;t=1'


def test_without_a_key_only_the_address_is_counted(db: None) -> None:
    reply = call()
    assert reply.status_code == 401
    assert reply["RateLimit-Policy"] == '"address";q=2000;w=2'


def test_probes_and_numbers_are_never_limited(slow: None) -> None:
    statuses(10)
    for path in ("/healthz", "/readyz", "/metrics"):
        found = {call(path=path).status_code for _ in range(10)}
        assert 429 not in found
        assert "RateLimit" not in call(path=path)


def test_nought_turns_a_limit_off(settings: LazySettings, ours: Project) -> None:
    settings.API_RATE_PER_KEY = settings.API_RATE_PER_ADDRESS = 0
    reply = call(a_key(ours))
    assert reply.status_code == 200
    assert "RateLimit" not in reply and "RateLimit-Policy" not in reply


@pytest.mark.parametrize(
    "name", ["API_RATE_PER_KEY", "API_RATE_PER_ADDRESS", "PAGE_RATE_PER_ADDRESS"]
)
def test_a_limit_that_is_no_number_stops_the_start(name: str) -> None:
    done = check(**{name: "many"})
    assert done.returncode != 0 and f"{name} must be a whole number" in done.said


def test_the_schema_promises_it_of_every_operation() -> None:
    for path, methods in promised.schema()["paths"].items():
        for method, operation in methods.items():
            if "responses" not in operation:
                continue
            for status, answer in operation["responses"].items():
                assert {"RateLimit", "RateLimit-Policy"} <= set(answer["headers"]), (path, method)
                assert (status == "429") <= ("Retry-After" in answer["headers"])
            assert "429" in operation["responses"], (path, method)


def test_a_callers_refusal_is_as_promised(slow: None, ours: Project) -> None:
    alice = Caller(ours)
    found = [alice.get("runs").status_code for _ in range(5)]
    assert found == [200] * 4 + [429]


# --- Pages ---------------------------------------------------------------------------------------


def test_a_visitor_who_is_not_logged_in_is_limited_by_address(slow: None) -> None:
    login = reverse("admin:login")
    found = statuses(12, path=login)
    assert found == [200] * 10 + [429] * 2
    reply = call(path=login)
    assert reply["Retry-After"] == "1" and "Too many requests" in reply.content.decode()
    assert call(path=login, address=THERE).status_code == 200


def test_a_made_up_session_is_a_visitors(slow: None) -> None:
    client = Client(REMOTE_ADDR=HERE)
    client.cookies["sessionid"] = "x" * 32
    assert [client.get("/admin/").status_code for _ in range(11)] == [302] * 10 + [429]


def test_who_is_logged_in_is_not(slow: None) -> None:
    client = logged_in(Role.VIEWER)
    assert {client.get("/admin/").status_code for _ in range(15)} == {200}


# --- Valkey --------------------------------------------------------------------------------------


def test_two_processes_share_one_limit(slow: None, ours: Project) -> None:
    key, path = a_key(ours), ("tests.security.front.other_process", str(Clock.now), "4")
    other = subprocess.Popen(
        [sys.executable, "-m", *path, key, HERE],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "API_RATE_PER_KEY": "2"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with other:
        assert other.stdout
        # Not once it ended: Valkey forgets by a clock of its own, and leaving may take seconds.
        assert [other.stdout.readline() for _ in range(4)] == ["passed\n"] * 4
        assert call(key).status_code == 429, "the other process has had them"


def test_a_request_costs_one_round_trip(ours: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    key = a_key(ours)
    call(key)
    whole: Any = AbstractConnection.send_packed_command

    def noted(connection: Any, packed: Any, *more: Any) -> None:
        sent.append(b"".join(packed) if isinstance(packed, list) else packed)
        whole(connection, packed, *more)

    monkeypatch.setattr(AbstractConnection, "send_packed_command", noted)
    call(key)
    assert [packed.count(b"EVALSHA") for packed in sent] == [1]


def test_a_valkey_that_forgot_the_script_is_told_it_again(ours: Project) -> None:
    key = a_key(ours)
    assert "RateLimit" in call(key)
    rate_limits.valkey().script_flush()
    assert "RateLimit" in call(key)


def test_while_valkey_is_silent_requests_pass_and_few_of_them_wait(
    ours: Project, settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    key = a_key(ours)
    url = settings.REDIS_DATABASES["cache"]
    port = int(re.search(r":(\d+)/", url).group(1))  # type: ignore[union-attr]
    relay = Relay(port)
    settings.REDIS_DATABASES = {
        **settings.REDIS_DATABASES,
        "cache": url.replace(f":{port}/", f":{relay.port}/"),
    }
    rate_limits.valkey.cache_clear()
    try:
        assert "RateLimit" in call(key)
        relay.cut()
        asked = relay.connections
        caplog.set_level(logging.WARNING)
        assert statuses(30, key) == [200] * 30
        assert relay.connections - asked <= 1, "one has tried; the others remember"
        assert len([line for line in caplog.messages if "rate limits" in line]) == 1
        assert "RateLimit" not in call(key)
        relay.mend()
        rate_limits.Outage.is_there = False
        assert "RateLimit" in call(key)
    finally:
        rate_limits.valkey.cache_clear()


def test_a_clock_that_was_set_back_locks_nobody_out(clock: Clock) -> None:
    limits = Limits((Limit("key", 10, "somebody"),))
    assert limits.take().wait == 0
    clock.now -= 4_000
    assert [limits.take().wait for _ in range(20)] == [0] * 20
    assert 0 < limits.take().wait <= 0.1001


def test_calls_at_the_rate_pass_for_ever(clock: Clock) -> None:
    limits = Limits((Limit("key", 10, "steady"),))
    waits = []
    for _ in range(300):
        waits.append(limits.take().wait)
        clock.now += 0.1
    assert not any(waits)


def test_who_waits_as_long_as_told_is_let_in(slow: None, ours: Project, clock: Clock) -> None:
    key = a_key(ours)
    statuses(4, key)
    clock.now += int(call(key)["Retry-After"])
    assert statuses(3, key) == [200, 200, 429], "two have come back in a second"


def test_what_is_kept_of_an_address_goes_by_itself(
    slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "clock", lambda: "")  # Valkey's own
    call()
    client = redis.Redis.from_url(settings.REDIS_DATABASES["cache"])
    kept: Any = client.keys("rate:*")
    assert len(kept) == 1 and HERE.encode() not in kept[0]
    assert all(0 < client.pttl(key) <= 5_000 for key in kept)
