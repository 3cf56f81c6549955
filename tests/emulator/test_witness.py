from __future__ import annotations

import json
import signal

from tests.emulator.conftest import Start
from tests.emulator.running import RunningEmulator
from tests.given.waiting import eventually


def send(emulator: RunningEmulator, address: str, message_id: str) -> str:
    message = {
        "token": address,
        "data": {"carillon_id": message_id},
        "notification": {"title": "Hello", "body": "Grüße 👋"},
    }
    name: str = emulator.send(message).json["name"]
    return name


def test_every_accepted_message_leaves_one_line(start: Start) -> None:
    emulator = start()
    name = send(emulator, "device-1", "7:1")
    emulator.send({"fid": "device-2"})
    emulator.send({"token": "dead-3"})
    emulator.stop()
    first, second = emulator.witness_file()
    assert first == {
        "at": first["at"],
        "project": "carillon-demo",
        "address": "device-1",
        "kind": "token",
        "id": "7:1",
        "name": name,
        "title": "Hello",
        "body": "Grüße 👋",
        "tag": None,
        "connection": first["connection"],
        "repeat": 1,
    }
    assert (second["address"], second["kind"], second["id"]) == ("device-2", "fid", None)


def test_lines_reach_the_file_while_it_runs(emulator: RunningEmulator) -> None:
    send(emulator, "device-1", "7:1")
    eventually("a line is written", lambda: emulator.witness_file())
    assert [record["id"] for record in emulator.witness_file()] == ["7:1"]


def test_a_second_acceptance_of_an_id_is_a_repeat(emulator: RunningEmulator) -> None:
    for address, message_id in (("a", "7:1"), ("b", "7:1"), ("a", "7:2"), ("c", "7:1")):
        send(emulator, address, message_id)
    assert [record["repeat"] for record in emulator.witnessed(id="7:1")] == [1, 2, 3]
    counts = emulator.counts()
    assert (counts["accepted"], counts["ids"], counts["repeats"]) == (4, 2, 1)


def test_it_answers_for_one_id_one_address_and_the_latest_few(emulator: RunningEmulator) -> None:
    for sequence in range(4):
        send(emulator, f"device-{sequence % 2}", f"7:{sequence}")
    assert [record["id"] for record in emulator.witnessed(address="device-1")] == ["7:1", "7:3"]
    assert [record["id"] for record in emulator.witnessed(limit="2")] == ["7:2", "7:3"]
    assert emulator.witnessed(address="device-1", id="7:0") == []
    answer = emulator.ask("GET", "/admin/witness?id=7:0").json
    assert answer["times_accepted"] == 1


def test_the_name_of_a_device_in_a_title_is_not_its_address(emulator: RunningEmulator) -> None:
    emulator.send({"token": "a", "notification": {"title": "b"}})
    assert emulator.witnessed(address="b") == []


def test_messages_of_one_connection_share_its_number(emulator: RunningEmulator) -> None:
    send(emulator, "a", "7:1")
    send(emulator, "b", "7:2")
    first, second = emulator.witnessed()
    assert first["connection"] < second["connection"]


def test_a_reset_empties_memory_and_file(emulator: RunningEmulator) -> None:
    send(emulator, "a", "7:1")
    emulator.ask("POST", "/admin/reset")
    assert emulator.witnessed() == []
    assert emulator.witness_file() == []
    send(emulator, "a", "7:1")
    assert [record["repeat"] for record in emulator.witnessed()] == [1]


def test_a_restart_appends_and_closes_a_torn_line(start: Start) -> None:
    first = start()
    send(first, "a", "7:1")
    eventually("a line is written", lambda: first.witness_file())
    first.stop(signal.SIGKILL)
    file = first.folder / "witness.jsonl"
    file.write_bytes(file.read_bytes() + b'{"at": 17')

    second = start()
    send(second, "b", "7:2")
    second.stop()
    whole, torn, after = file.read_text().splitlines()
    assert torn == '{"at": 17'
    assert [json.loads(line)["id"] for line in (whole, after)] == ["7:1", "7:2"]
