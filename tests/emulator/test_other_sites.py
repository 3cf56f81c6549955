"""The console is on the developer's machine, and so is a browser with any page in it."""

from __future__ import annotations

import pytest

from tests.emulator.running import RunningEmulator

WRITES = [
    ("POST", "/admin/settings", '{"latency_ms": 77}'),
    ("POST", "/admin/faults", '{"kind": "answer", "answer": "unavailable"}'),
    ("DELETE", "/admin/faults", ""),
    ("POST", "/admin/revoke", ""),
    ("POST", "/admin/reset", '{"settings": true}'),
]
ELSEWHERE = ("https://evil.example", "null", "https://localhost.evil.example", "http://localhost:1")


@pytest.mark.parametrize("origin", ELSEWHERE)
def test_a_page_of_another_site_changes_nothing(emulator: RunningEmulator, origin: str) -> None:
    emulator.settings(latency_ms=2)
    emulator.ask("POST", "/admin/faults", '{"kind": "answer", "answer": "internal", "share": 1}')
    token = emulator.token()
    for method, path, body in WRITES:
        refused = emulator.ask(method, path, body, {"Origin": origin})
        assert refused.status == 403, (method, path)
        assert "another site" in refused.json["error"]
    assert emulator.ask("GET", "/admin/settings").json["latency_ms"] == 2
    assert len(emulator.ask("GET", "/admin/faults").json["faults"]) == 1
    emulator.ask("DELETE", "/admin/faults")
    assert emulator.send({"token": "a"}, token=token).status == 200, "nothing was revoked"


def test_a_foreign_name_that_leads_to_this_machine_is_told_nothing(
    emulator: RunningEmulator,
) -> None:
    """DNS rebinding: to the browser such a page and the console are one site."""
    foreign = {"Host": f"evil.example:{emulator.port}"}
    same_site = {**foreign, "Origin": f"https://evil.example:{emulator.port}"}
    for path in ("/", "/admin/witness", "/admin/counts", "/admin/settings"):
        assert emulator.ask("GET", path, headers=foreign).status == 403, path
    for method, path, body in WRITES:
        assert emulator.ask(method, path, body, same_site).status == 403, path


def test_its_own_page_and_programs_go_on(emulator: RunningEmulator) -> None:
    for host in (f"localhost:{emulator.port}", f"127.0.0.1:{emulator.port}"):
        own = {"Host": host, "Origin": f"https://{host}"}
        for method, path, body in WRITES:
            assert emulator.ask(method, path, body, own).status == 200, path
            assert emulator.ask(method, path, body).status == 200, path


def test_whoever_sends_is_not_asked_where_from(emulator: RunningEmulator) -> None:
    """An SDK may be pointed here under any name; a token is what it has to show."""
    there = {
        "Host": "fcm.googleapis.com",
        "Origin": "https://evil.example",
        "Authorization": f"Bearer {emulator.token()}",
    }
    body = '{"message": {"token": "a"}}'
    path = "/v1/projects/carillon-demo/messages:send"
    assert emulator.ask("POST", path, body, there).status == 200
