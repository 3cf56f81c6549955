from __future__ import annotations

import re

import pytest

from tests.emulator.running import RunningEmulator


def test_counts_tell_what_was_asked_and_answered(emulator: RunningEmulator) -> None:
    before = emulator.counts()
    token = emulator.token()
    for address in ("a", "dead-1", "dead-2"):
        emulator.send({"token": address}, token=token)
    emulator.send({"token": "a"}, token="wrong")
    counts = emulator.counts()
    assert counts["by_answer"] == {"UNREGISTERED": 2, "ACCEPTED": 1, "ACCESS_TOKEN_EXPIRED": 1}
    assert (counts["requests"], counts["accepted"]) == (4, 1)
    assert (counts["in_flight"], counts["peak_in_flight"]) == (0, 1)
    assert counts["connections"] >= 1
    assert counts["since"] == before["since"]


def test_a_reset_starts_the_counts_again(emulator: RunningEmulator) -> None:
    emulator.send({"token": "a"})
    before = emulator.counts()
    after = emulator.ask("POST", "/admin/reset").json
    assert after["since"] > before["since"]
    assert (after["requests"], after["accepted"], after["ids"], after["tokens_issued"]) == (0,) * 4
    assert after["by_answer"] == {}


def test_settings_change_while_it_runs(emulator: RunningEmulator) -> None:
    changed = emulator.settings(latency_ms=2.5)
    assert (changed.json["latency_ms"], changed.json["token_seconds"]) == (2.5, 3600)
    assert emulator.ask("GET", "/admin/settings").json == changed.json
    assert emulator.counts()["latency_ms"] == 2.5


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"latency_ms": "60"}',
        '{"latency_ms": -1}',
        '{"latency_ms": 60001}',
        '{"latency_ms": true}',
        '{"token_seconds": 0}',
        '{"latency": 60}',
        '{"latency_ms": 100, "latency_p99_ms": 99}',
        '{"quota_per_minute": 0.5}',
        '{"quota_retry_after": "soon"}',
        '{"phones": 1}',
        '{"beacon_url": "ftp://localhost/"}',
        '{"latency_ms": 5, "token_seconds": 9999}',
    ],
)
def test_a_wrong_setting_is_explained_and_changes_nothing(
    emulator: RunningEmulator, body: str
) -> None:
    before = emulator.ask("GET", "/admin/settings").json
    refused = emulator.ask("POST", "/admin/settings", body)
    assert refused.status == 400
    assert refused.json["error"]
    assert emulator.ask("GET", "/admin/settings").json == before


@pytest.mark.parametrize("limit", ["0", "-1", "many", "10001"])
def test_a_wrong_limit_is_explained(emulator: RunningEmulator, limit: str) -> None:
    refused = emulator.ask("GET", f"/admin/witness?limit={limit}")
    assert (refused.status, refused.json["error"]) == (
        400,
        "limit must be a number from 1 to 10000",
    )


def test_the_page_needs_nothing_from_elsewhere(emulator: RunningEmulator) -> None:
    page = emulator.ask("GET", "/")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=UTF-8"
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert not re.search(r"(?:https?:)?//[a-z]", page.text)


def test_no_other_page_can_frame_it(emulator: RunningEmulator) -> None:
    """Else one lays its own words over the button that resets, and lets somebody click there."""
    page = emulator.ask("GET", "/")
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Frame-Options"] == "DENY"


def test_only_asking_is_no_door_to_a_reset(emulator: RunningEmulator) -> None:
    assert emulator.ask("GET", "/admin/reset").status == 404
