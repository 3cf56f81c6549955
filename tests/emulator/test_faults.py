from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections import Counter
from typing import Any

import pytest

from emulator.faults import fault
from emulator.faults.faults import SEND, Faults
from emulator.google.catalogue import CATALOGUE
from tests.emulator.running import Response, RunningEmulator
from tests.given.waiting import eventually

NOON = 1_790_000_000.0


def send(emulator: RunningEmulator, address: str = "a", message_id: str = "1:1") -> Response:
    return emulator.send({"token": address, "data": {"carillon_id": message_id}})


def scripted(*scripts: dict[str, Any]) -> Faults:
    faults = Faults(processes=1)
    faults.put([fault.read(each, number=i + 1, now=NOON) for i, each in enumerate(scripts)])
    return faults


def met(faults: Faults, address: str, *, at: float = NOON, message_id: str | None = None) -> bool:
    return faults.meet(SEND, address, message_id, now=at) is not None


# --- what goes wrong


@pytest.mark.parametrize("word", CATALOGUE)
def test_every_answer_of_the_catalogue_can_be_scripted(
    emulator: RunningEmulator, word: str
) -> None:
    emulator.script(kind="answer", answer=word)
    answer = send(emulator)
    assert answer.status == CATALOGUE[word].status
    assert answer.text == CATALOGUE[word].reply.body.decode()
    assert emulator.witnessed() == []


@pytest.mark.parametrize("word", CATALOGUE)
def test_every_word_of_the_catalogue_is_an_address_as_well(
    emulator: RunningEmulator, word: str
) -> None:
    assert send(emulator, f"{word}-1").status == CATALOGUE[word].status
    assert emulator.counts()["by_answer"] == {CATALOGUE[word].name: 1}


@pytest.mark.parametrize(
    ("accepted", "witnessed", "body"),
    [(False, 0, "Gone fishing"), (True, 1, {"error": {"code": 418}})],
)
def test_an_answer_of_ones_own_before_and_after_accepting(
    emulator: RunningEmulator, accepted: bool, witnessed: int, body: Any
) -> None:
    own = {"status": 418, "body": body}
    emulator.script(kind="answer", answer=own, accepted=accepted, retry_after=7)
    answer = send(emulator)
    assert (answer.status, answer.headers["Retry-After"]) == (418, "7")
    assert (answer.text if isinstance(body, str) else answer.json) == body
    assert len(emulator.witnessed()) == witnessed


@pytest.mark.parametrize("kind", ["hang", "drop"])
@pytest.mark.parametrize("accepted", [False, True])
def test_no_answer_before_and_after_accepting(
    emulator: RunningEmulator, kind: str, accepted: bool
) -> None:
    emulator.script(kind=kind, accepted=accepted, seconds=0.05)
    with pytest.raises(http.client.RemoteDisconnected):
        send(emulator)
    assert len(emulator.witnessed()) == accepted


@pytest.mark.parametrize("kind", ["cut", "cut_body"])
def test_an_answer_that_is_cut_off_was_for_an_accepted_message(
    emulator: RunningEmulator, kind: str
) -> None:
    emulator.script(kind=kind)
    with pytest.raises((http.client.HTTPException, OSError)):
        send(emulator)
    assert len(emulator.witnessed()) == 1


@pytest.mark.parametrize("kind", ["truncated", "empty"])
def test_a_good_status_over_a_body_nobody_can_read(emulator: RunningEmulator, kind: str) -> None:
    emulator.script(kind=kind)
    answer = send(emulator)
    assert answer.status == 200
    with pytest.raises(json.JSONDecodeError):
        answer.json  # noqa: B018
    assert len(emulator.witnessed()) == 1


@pytest.mark.parametrize("kind", ["slow", "trickle"])
def test_a_good_answer_that_takes_its_time(emulator: RunningEmulator, kind: str) -> None:
    emulator.script(kind=kind, seconds=0.1)
    answer = send(emulator)
    assert answer.json["name"].startswith("projects/carillon-demo/messages/0:")
    assert len(emulator.witnessed()) == 1


def test_a_connection_is_closed_after_its_answer(emulator: RunningEmulator) -> None:
    emulator.script(kind="close")
    assert send(emulator).headers["Connection"] == "close"


def test_an_idle_connection_is_closed(emulator: RunningEmulator) -> None:
    emulator.script(kind="idle", seconds=0.05)
    with emulator.open_socket() as idle:
        for _ in range(30):  # until the fault has come into force
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert idle.recv(4096).startswith(b"HTTP/1.1 200")
            idle.settimeout(0.3)
            try:
                assert idle.recv(1) == b""
            except TimeoutError:
                continue
            break
        else:
            pytest.fail("it stays open")


def test_an_outage_loses_what_is_in_flight_and_then_ends(emulator: RunningEmulator) -> None:
    emulator.settings(latency_ms=30_000)
    token, message = emulator.token(), '{"message": {"token": "a"}}'
    lost: list[BaseException] = []

    def wait_for_an_answer() -> None:
        try:
            send(emulator, message_id="1:1")
        except (OSError, http.client.HTTPException) as problem:
            lost.append(problem)

    sender = threading.Thread(target=wait_for_an_answer)
    sender.start()
    eventually("it is on its way", lambda: emulator.counts()["in_flight"])
    outage = emulator.script(kind="outage")
    sender.join(10)
    assert len(lost) == 1
    assert not isinstance(lost[0], TimeoutError)
    for door in ("/token", "/v1/projects/carillon-demo/messages:send"):
        with pytest.raises((OSError, http.client.HTTPException)):
            emulator.ask("POST", door, message, {"Authorization": f"Bearer {token}"})
    emulator.settings(latency_ms=1)
    emulator.ask("DELETE", f"/admin/faults?id={outage['id']}")
    assert send(emulator, message_id="1:3").status == 200
    assert [record["id"] for record in emulator.witnessed()] == ["1:1", "1:3"]


def test_a_stall_leaves_a_connection_without_a_handshake(emulator: RunningEmulator) -> None:
    emulator.script(kind="stall", **{"for": 1.0})
    impatient = ssl.create_default_context(cafile=emulator.folder / "ca.pem")
    for _ in range(300):  # until the fault has come into force
        connection = http.client.HTTPSConnection(
            "127.0.0.1", emulator.port, context=impatient, timeout=0.3
        )
        try:
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
        except TimeoutError:
            break
        finally:
            connection.close()
    else:
        pytest.fail("it answers as ever")
    assert emulator.ask("GET", "/healthz").status == 200  # it waits until the stall is over


def test_the_token_endpoint_has_faults_of_its_own(emulator: RunningEmulator) -> None:
    token = emulator.token()
    emulator.script(kind="answer", answer="unavailable", door="token", times=1)
    assert emulator.send({"token": "a"}, token=token).status == 200
    assert emulator.exchange(emulator.assertion()).status == 503
    assert emulator.exchange(emulator.assertion()).status == 200
    assert emulator.counts()["token_requests"] == 3


# --- whom, how often, when


def test_a_fault_meets_a_prefix_or_one_address(emulator: RunningEmulator) -> None:
    emulator.script(kind="answer", answer="internal", prefix="ios")
    emulator.script(kind="answer", answer="dead", address="gone")
    statuses = [send(emulator, address).status for address in ("ios:1", "gone", "gone2", "a")]
    assert statuses == [500, 404, 200, 200]


def test_it_meets_so_many_requests_or_the_first_of_each_message(emulator: RunningEmulator) -> None:
    emulator.script(kind="answer", prefix="a", times=2)
    emulator.script(kind="answer", prefix="b", first_only=True)
    assert [send(emulator, "a").status for _ in range(3)] == [503, 503, 200]
    ids = ("1:1", "1:1", "1:2", "1:2")
    assert [send(emulator, "b", each).status for each in ids] == [503, 200, 503, 200]


def test_a_share_of_the_requests_is_the_same_for_the_same_seed() -> None:
    def run(seed: int) -> list[bool]:
        faults = scripted({"kind": "reset", "share": 20, "seed": seed})
        return [met(faults, "a") for _ in range(1_000)]

    assert run(1) == run(1) != run(2)
    assert 150 < sum(run(1)) < 250


def test_a_share_of_the_addresses_is_always_the_same_ones() -> None:
    faults = scripted({"kind": "reset", "share": 20, "each": "address"})
    addresses = [f"device{number}" for number in range(1_000)] * 3
    times = Counter(address for address in addresses if met(faults, address))
    assert 150 < len(times) < 250
    assert set(times.values()) == {3}


def test_a_fault_has_a_beginning_and_an_end() -> None:
    faults = scripted({"kind": "reset", "after": 10, "for": 5})
    seconds = (0, 9, 10, 14, 15, 60)
    assert [met(faults, "a", at=NOON + each) for each in seconds] == (
        [False, False, True, True, False, False]
    )
    states = [faults.show(NOON + each)[0]["state"] for each in seconds]
    assert states == ["waiting", "waiting", "on", "on", "over", "over"]


def test_the_first_fault_that_fits_decides() -> None:
    faults = scripted({"kind": "reset", "times": 1}, {"kind": "hang"})
    endings = [faults.meet(SEND, "a", None, now=NOON) for _ in range(2)]
    assert [each and each.name for each in endings] == ["RESET", "SILENCE"]


# --- the door


def test_faults_are_listed_with_their_hits_and_removed(emulator: RunningEmulator) -> None:
    first, second = emulator.script(kind="close"), emulator.script(kind="reset")
    send(emulator)
    listed = emulator.ask("GET", "/admin/faults").json["faults"]
    assert [(each["id"], each["hits"]) for each in listed] == [(first["id"], 1), (second["id"], 0)]
    left = emulator.ask("DELETE", f"/admin/faults?id={first['id']}").json["faults"]
    assert [each["id"] for each in left] == [second["id"]]
    assert emulator.ask("DELETE", "/admin/faults").json["faults"] == []
    assert "Connection" not in send(emulator).headers


def test_a_reset_removes_every_fault(emulator: RunningEmulator) -> None:
    emulator.script(kind="answer")
    emulator.ask("POST", "/admin/reset")
    assert emulator.ask("GET", "/admin/faults").json["faults"] == []
    assert send(emulator).status == 200


def test_many_faults_come_in_one_list_all_or_none(emulator: RunningEmulator) -> None:
    good, bad = {"kind": "reset", "prefix": "x"}, {"kind": "explode"}
    assert emulator.ask("POST", "/admin/faults", json.dumps([good, bad])).status == 400
    assert emulator.ask("GET", "/admin/faults").json["faults"] == []
    both = emulator.ask("POST", "/admin/faults", json.dumps([good, good]))
    assert len(both.json["faults"]) == 2
    assert emulator.ask("POST", "/admin/faults", json.dumps([good] * 63)).status == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"kind": "explode"},
        {"kind": "answer", "answer": "nonsense"},
        {"kind": "answer", "answer": {"status": 42}},
        {"kind": "answer", "retry_after": "1\r\nX: y"},
        {"kind": "reset", "share": 101},
        {"kind": "reset", "share": "5"},
        {"kind": "reset", "times": 0},
        {"kind": "reset", "unknown": 1},
        {"kind": "slow", "accepted": False},
        {"kind": "stall"},
        [7],
    ],
)
def test_a_wrong_fault_is_explained_and_changes_nothing(
    emulator: RunningEmulator, wrong: Any
) -> None:
    refused = emulator.ask("POST", "/admin/faults", json.dumps(wrong))
    assert refused.status == 400
    assert refused.json["error"]
    assert send(emulator).status == 200
