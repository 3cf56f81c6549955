"""What a client hears over HTTP/2: the answers of HTTP/1.1, and faults that end streams."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from tests.emulator.conftest import Start
from tests.emulator.http2 import FAULT, REFUSED, SEND, Client
from tests.emulator.running import RunningEmulator
from tests.given.waiting import eventually


@pytest.mark.parametrize(
    ("spoken", "chosen"),
    [
        (("h2",), "h2"),
        (("http/1.1", "h2"), "h2"),
        (("http/1.1",), "http/1.1"),
        ((), None),
    ],
)
def test_who_speaks_both_is_answered_in_http2(
    emulator: RunningEmulator, spoken: tuple[str, ...], chosen: str | None
) -> None:
    with emulator.open_socket(*spoken) as connection:
        assert connection.selected_alpn_protocol() == chosen


def test_one_session_carries_hundreds_of_messages(emulator: RunningEmulator) -> None:
    with Client(emulator) as client:
        for _ in range(5):
            client.wait_for(*[client.send("a", carillon_id=f"1:{n}") for n in range(100)])
        assert {answer.status for answer in client.answers.values()} == {200}
    counts = emulator.counts()
    assert (counts["requests"], counts["accepted"], counts["ids"]) == (500, 500, 100)
    assert counts["in_flight"] == 0
    records = emulator.witnessed(limit="1000")
    assert Counter(record["id"] for record in records) == {f"1:{n}": 5 for n in range(100)}
    assert len({record["connection"] for record in records}) == 1


@pytest.mark.parametrize("address", ["dead-1", "quota-1", "unavailable-1", "malformed-1"])
def test_a_refusal_is_the_one_of_http1(emulator: RunningEmulator, address: str) -> None:
    expected = emulator.send({"token": address})
    with Client(emulator) as client:
        answer = client.answer(client.send(address))
    assert answer.status == expected.status
    assert answer.body.decode() == expected.text
    assert answer.headers.keys() - {":status"} == {name.lower() for name in expected.headers}


def test_every_other_door_is_open_as_well(emulator: RunningEmulator) -> None:
    with Client(emulator) as client:
        head = client.answer(client.ask("HEAD", "/nowhere"))
        assert (head.status, head.body) == (404, b"")
        assert client.answer(client.ask("GET", "/healthz")).status == 200
        assert client.answer(client.ask("POST", SEND, b"{}")).status == 401
        token = client.answer(client.ask("POST", "/token", b"grant_type=x"))
        assert (token.status, b"unsupported_grant_type" in token.body) == (400, True)


def test_a_late_answer_holds_up_nobody(emulator: RunningEmulator) -> None:
    emulator.script(kind="slow", seconds=0.2, address="late")
    with Client(emulator) as client:
        late, *others = [client.send(address) for address in ("late", "a", "b")]
        client.wait_for(late, *others)
        assert client.finished[-1] == late
        assert {answer.status for answer in client.answers.values()} == {200}


# --- faults


@pytest.mark.parametrize(
    ("kind", "accepted"),
    [("drop", False), ("drop", True), ("reset", False), ("reset", True), ("hang", True)],
)
def test_a_lost_answer_is_a_stream_that_is_reset(
    emulator: RunningEmulator, kind: str, accepted: bool
) -> None:
    emulator.script(kind=kind, accepted=accepted, seconds=0.05, address="lost")
    with Client(emulator) as client:
        lost, kept = client.send("lost"), client.send("a")
        client.wait_for(lost, kept)
        assert (client.answers[lost].reset_with, client.answers[lost].headers) == (FAULT, {})
        assert client.answers[kept].status == 200
        assert client.answer(client.send("a")).status == 200  # on the same connection
    assert emulator.counts()["accepted"] == 2 + accepted
    assert emulator.counts()["in_flight"] == 0


@pytest.mark.parametrize(("kind", "half"), [("cut", False), ("cut_body", True)])
def test_an_answer_is_cut_off(emulator: RunningEmulator, kind: str, half: bool) -> None:
    emulator.script(kind=kind)
    with Client(emulator) as client:
        answer = client.answer(client.send("a"))
    assert (answer.status, answer.reset_with) == (200, FAULT)
    assert bool(answer.body) == half
    assert len(answer.body) < int(answer.headers["content-length"])
    assert len(emulator.witnessed()) == 1


@pytest.mark.parametrize("kind", ["truncated", "empty"])
def test_a_good_status_over_a_body_nobody_can_read(emulator: RunningEmulator, kind: str) -> None:
    emulator.script(kind=kind)
    with Client(emulator) as client:
        answer = client.answer(client.send("a"))
    assert (answer.status, answer.reset_with) == (200, None)
    assert not answer.body.endswith(b"}\n")


def test_an_answer_trickles_in_pieces(emulator: RunningEmulator) -> None:
    emulator.script(kind="trickle", seconds=0.1)
    with Client(emulator) as client:
        stream = client.send("a")
        pieces = 0
        while not client.answers[stream].is_over:
            pieces += sum(bool(getattr(event, "data", b"")) for event in client.hear())
        answer = client.answers[stream]
    assert pieces > 3
    assert len(answer.body) == int(answer.headers["content-length"])


def test_after_its_last_answer_a_session_takes_nothing_more(emulator: RunningEmulator) -> None:
    emulator.script(kind="hang", address="late")
    emulator.script(kind="close", address="last")
    with Client(emulator) as client:
        late, last = client.send("late"), client.send("last")
        assert client.answer(last).status == 200
        assert client.farewell == 0
        assert client.answer(client.send("a")).reset_with == REFUSED  # so it may be sent again
        assert not client.is_closed
        client.wire.reset_stream(late)
        client.flush()
        client.wait_for_the_end()
    assert [record["address"] for record in emulator.witnessed()] == ["last"]


def test_an_idle_session_is_closed_with_a_farewell(emulator: RunningEmulator) -> None:
    emulator.script(kind="idle", seconds=0.05)
    with Client(emulator) as client:

        def is_closed() -> bool:
            client.wait_for(client.ask("GET", "/healthz"))
            client.socket.settimeout(0.3)
            try:
                client.wait_for_the_end()
            except TimeoutError:  # the fault has not come into force yet
                return False
            return True

        eventually("it is closed", is_closed)
        assert client.farewell == 0


def test_an_outage_loses_all_that_is_in_flight(emulator: RunningEmulator) -> None:
    emulator.settings(latency_ms=30_000)
    with Client(emulator) as client:
        streams = [client.send("a") for _ in range(3)]
        eventually("they are on their way", lambda: emulator.counts()["in_flight"] == 3)
        emulator.script(kind="outage")
        client.wait_for_the_end()
        assert client.farewell is None
        assert not any(client.answers[each].headers for each in streams)
    eventually("nothing is", lambda: emulator.counts()["in_flight"] == 0)


def test_a_signal_lets_answers_under_way_arrive(start: Start) -> None:
    emulator = start("--port", "0", "--latency-ms", "300")
    with Client(emulator) as client:
        stream = client.send("a")
        eventually("it is on its way", lambda: emulator.counts()["in_flight"])
        stopped = threading.Thread(target=emulator.stop)
        stopped.start()
        while client.farewell is None:
            client.hear()
        client.wait_for(stream)
        client.wait_for_the_end()
        stopped.join(10)
        assert client.answers[stream].status == 200
    assert [record["address"] for record in emulator.witness_file()] == ["a"]


# --- streams and windows


def test_a_client_that_gives_up_leaves_nothing_in_flight(emulator: RunningEmulator) -> None:
    emulator.settings(latency_ms=30_000)
    with Client(emulator) as client:
        streams = [client.send("a", carillon_id="1:1") for _ in range(3)]
        eventually("they are on their way", lambda: emulator.counts()["in_flight"] == 3)
        for stream in streams:
            client.wire.reset_stream(stream)
        client.flush()
        eventually("nothing is", lambda: emulator.counts()["in_flight"] == 0)
        emulator.settings(latency_ms=1)
        assert client.answer(client.send("a")).status == 200
    assert len(emulator.witnessed(id="1:1")) == 3  # sent is sent


def test_a_client_that_asks_and_gives_up_in_one_breath_disturbs_nobody(
    emulator: RunningEmulator,
) -> None:
    with Client(emulator) as client:
        stream = client.wire.get_next_available_stream_id()
        client.open("POST", "/token", ends=True)
        client.wire.reset_stream(stream)
        again = client.ask("GET", "/healthz")
        assert client.answer(again).status == 200


def test_a_small_window_is_filled_and_waited_for(emulator: RunningEmulator) -> None:
    with Client(emulator, window=10) as client:
        stream = client.send("a")
        answer = client.answer(stream)
    assert len(answer.body) == int(answer.headers["content-length"])


def test_a_page_larger_than_every_window_arrives(emulator: RunningEmulator) -> None:
    with Client(emulator) as client:
        for _ in range(6):
            client.wait_for(*[client.send("a" * 200) for _ in range(100)])
        answer = client.answer(client.ask("GET", "/admin/witness?limit=1000"))
    assert len(answer.body) == int(answer.headers["content-length"]) > 2 * 65_535
