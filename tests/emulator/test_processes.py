"""Several processes behind one port: to whoever asks, they are one emulator."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emulator.conftest import Start
from tests.emulator.running import RunningEmulator, run_to_its_end
from tests.given.waiting import eventually

PROCESSES = 3


@pytest.fixture(scope="module")
def shared_crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEmulator]:
    emulator = RunningEmulator(
        tmp_path_factory.mktemp("crew"), "--port", "0", "--processes", str(PROCESSES)
    )
    yield emulator
    emulator.stop()


@pytest.fixture
def crew(shared_crew: RunningEmulator) -> RunningEmulator:
    shared_crew.ask("POST", "/admin/reset", '{"settings": true}')
    shared_crew.settings(latency_ms=1)
    return shared_crew


def children(emulator: RunningEmulator) -> list[int]:
    pid = emulator.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # ended, and nobody asked for its exit code yet


def send_many(emulator: RunningEmulator, count: int, address: str = "a") -> list[int]:
    """Each over a connection of its own, so that every process has its share."""
    token = emulator.token()
    return [
        emulator.send({"token": address, "data": {"carillon_id": f"1:{n}"}}, token=token).status
        for n in range(count)
    ]


def test_a_token_of_one_process_is_good_at_every_other(crew: RunningEmulator) -> None:
    assert send_many(crew, 40) == [200] * 40
    assert crew.counts()["tokens_issued"] == 1


def test_messages_are_spread_counted_and_witnessed_once(crew: RunningEmulator) -> None:
    send_many(crew, 40)
    counts = crew.counts()
    assert (counts["requests"], counts["accepted"], counts["ids"]) == (40, 40, 40)
    assert counts["processes"] == PROCESSES
    records = crew.witnessed()
    assert sorted(record["id"] for record in records) == sorted(f"1:{n}" for n in range(40))
    assert len({record["connection"] % PROCESSES for record in records}) == PROCESSES
    assert len({record["connection"] for record in records}) == 40
    assert len({record["name"] for record in records}) == 40


def test_a_repeat_is_noticed_whoever_accepts_it(crew: RunningEmulator) -> None:
    token = crew.token()
    for _ in range(12):
        crew.send({"token": "a", "data": {"carillon_id": "7:1"}}, token=token)
    assert [record["repeat"] for record in crew.witnessed()] == list(range(1, 13))
    assert crew.counts()["repeats"] == 1


def test_a_passing_trouble_meets_a_message_once_whoever_answers(crew: RunningEmulator) -> None:
    token = crew.token()
    message = {"token": "flaky-1", "data": {"carillon_id": "1:1"}}
    statuses = [crew.send(message, token=token).status for _ in range(12)]
    assert statuses == [503] + [200] * 11


def test_a_quota_is_of_all_processes_together(crew: RunningEmulator) -> None:
    crew.settings(quota_per_minute=1_000_000)
    send_many(crew, 20)
    used = crew.counts()["quota_used"]["carillon-demo"]
    assert used == 20
    crew.settings(quota_per_minute=20)
    assert set(send_many(crew, 10)) == {429}


def test_a_device_quota_is_of_all_processes_together(crew: RunningEmulator) -> None:
    crew.settings(device_quotas=True)
    token = crew.token()
    message = {"token": "a", "notification": {"title": "x"}}
    assert [crew.send(message, token=token).status for _ in range(21)] == [200] * 20 + [429]


def test_settings_and_faults_are_everybodys(crew: RunningEmulator) -> None:
    fault = {"kind": "answer", "answer": "internal", "times": 15}
    assert crew.ask("POST", "/admin/faults", json.dumps(fault)).status == 200
    statuses = send_many(crew, 20)
    assert statuses == [500] * 15 + [200] * 5
    [listed] = crew.ask("GET", "/admin/faults").json["faults"]
    assert listed["hits"] == 15
    crew.ask("DELETE", "/admin/faults")
    assert send_many(crew, 10) == [200] * 10
    assert crew.settings(latency_ms=2).json["latency_ms"] == 2


def test_a_revoked_token_is_good_nowhere(crew: RunningEmulator) -> None:
    crew.ask("POST", "/admin/revoke")
    token = crew.token()
    assert crew.ask("POST", "/admin/revoke").json == {"revoked": 1}
    assert {crew.send({"token": "a"}, token=token).status for _ in range(12)} == {401}
    assert set(send_many(crew, 12)) == {200}


def test_a_reset_is_everybodys(crew: RunningEmulator) -> None:
    send_many(crew, 12, "flaky-1")
    crew.ask("POST", "/admin/reset")
    counts = crew.counts()
    assert (counts["requests"], counts["accepted"], counts["ids"]) == (0, 0, 0)
    assert crew.witness_file() == []
    assert set(send_many(crew, 12, "flaky-1")) == {503}


def test_an_unknown_page_and_a_wrong_setting_are_answered_as_ever(crew: RunningEmulator) -> None:
    assert crew.ask("GET", "/nowhere").status == 404
    assert crew.settings(latency_ms=-1).status == 400
    assert crew.ask("GET", "/").text.startswith("<!doctype html>")


def test_a_signal_ends_them_all_with_the_witness_complete(start: Start) -> None:
    emulator = start("--port", "0", "--processes", "2")
    serving = children(emulator)
    send_many(emulator, 10)
    assert emulator.stop() == (0, "")
    assert len(emulator.witness_file()) == 10
    assert not any(map(is_running, serving))


def test_one_that_dies_ends_them_all_and_it_is_said(start: Start) -> None:
    emulator = start("--port", "0", "--processes", "2")
    os.kill(children(emulator)[0], signal.SIGKILL)
    _, complaint = emulator.process.communicate(timeout=10)
    assert (emulator.process.returncode, complaint) == (
        1,
        "emulator: stopped, one of its processes died\n",
    )


def test_followers_end_when_their_leader_is_killed(start: Start) -> None:
    emulator = start("--port", "0", "--processes", "2")
    serving = children(emulator)
    emulator.process.kill()
    emulator.process.communicate(timeout=10)
    eventually("the followers end", lambda: not any(map(is_running, serving)))


def test_a_port_that_somebody_shares_is_taken_all_the_same(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as taken:
        port = str(taken.getsockname()[1])
        finished = run_to_its_end(folder, "--port", port, "--processes", "2")
    assert finished.returncode == 2
    assert "Address already in use" in finished.stderr
