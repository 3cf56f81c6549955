"""HTTP/2 from somebody who means no good: it ends with a reason, and the next client is served."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import ContinuationFrame, Frame, HeadersFrame, PingFrame, RstStreamFrame

from tests.emulator.http2 import SEND, Client
from tests.emulator.running import RunningEmulator


@pytest.fixture
def client(emulator: RunningEmulator) -> Iterator[Client]:
    """Whatever it does, afterwards another one is served, and nothing of it is left."""
    with Client(emulator) as client:
        yield client
    with Client(emulator) as other:
        assert other.answer(other.ask("GET", "/healthz")).status == 200
    assert emulator.counts()["in_flight"] == 0


def peak_kilobytes(emulator: RunningEmulator) -> int:
    status = Path(f"/proc/{emulator.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


@pytest.mark.parametrize("said", [b"nonsense" * 10, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_what_is_not_http2_is_the_end(emulator: RunningEmulator, said: bytes) -> None:
    with emulator.open_socket("h2") as connection:
        connection.sendall(said)
        while connection.recv(4096):
            pass
    assert emulator.ask("GET", "/healthz").status == 200


def test_headers_of_16_kb_are_too_large(client: Client) -> None:
    fits = client.ask("GET", "/healthz", x="y" * 15_000)
    assert client.answer(fits).status == 200
    client.ask("GET", "/healthz", x="y" * 17_000)
    client.wait_for_the_end()
    assert client.farewell == ErrorCodes.ENHANCE_YOUR_CALM


def test_headers_that_never_end_are_cut_short(client: Client, emulator: RunningEmulator) -> None:
    frames: list[Frame] = [HeadersFrame(1, data=b"\x00" * 10)]
    frames += [ContinuationFrame(1, data=b"\x00" * 16_000) for _ in range(1_000)]
    before = peak_kilobytes(emulator)
    for frame in frames:
        client.socket.sendall(frame.serialize())
    client.wait_for_the_end()
    assert client.farewell == ErrorCodes.PROTOCOL_ERROR
    assert peak_kilobytes(emulator) - before < 8_000


def test_a_body_of_64_kb_is_read_and_one_of_a_megabyte_is_not(
    client: Client, emulator: RunningEmulator
) -> None:
    large = b'{"message": {"token": "a", "data": {"k": "%b"}}}' % (b"x" * 64_000)
    stream = client.open("POST", SEND, authorization=f"Bearer {client.token}")
    client.upload(stream, large)
    assert client.answer(stream).status == 400
    stream = client.open("POST", "/token")
    client.upload(stream, b"x" * 1_000_000)
    answer = client.answer(stream)
    assert (answer.status, answer.reset_with) == (413, ErrorCodes.NO_ERROR)
    assert client.answer(client.ask("GET", "/healthz")).status == 200  # on the same connection


def test_more_streams_than_were_allowed_are_the_end(
    client: Client, emulator: RunningEmulator
) -> None:
    emulator.settings(latency_ms=30_000)
    assert client.answer(client.ask("GET", "/healthz")).status == 200
    assert client.wire.remote_settings.max_concurrent_streams == 100
    for _ in range(100):
        client.send("a")
    client.wire.remote_settings[3] = 1_000
    client.wire.remote_settings.acknowledge()
    client.send("a")
    client.wait_for_the_end()
    assert client.farewell == ErrorCodes.PROTOCOL_ERROR


def test_who_resets_streams_without_end_is_sent_away(client: Client) -> None:
    for _ in range(2_000):
        stream = client.wire.get_next_available_stream_id()
        client.wire.send_headers(stream, client.headers("POST", SEND))
        client.wire.reset_stream(stream)
    client.socket.sendall(client.wire.data_to_send())
    client.wait_for_the_end()
    assert client.farewell == ErrorCodes.ENHANCE_YOUR_CALM


def test_who_pings_and_never_reads_is_not_read_any_more(
    client: Client, emulator: RunningEmulator
) -> None:
    pings = PingFrame(0, opaque_data=b"12345678").serialize() * 1_000
    before = peak_kilobytes(emulator)
    client.socket.settimeout(0.5)
    with pytest.raises(TimeoutError):
        for _ in range(10_000):
            client.socket.sendall(pings)
    assert peak_kilobytes(emulator) - before < 16_000


def test_a_frame_for_a_stream_that_never_was_is_the_end(client: Client) -> None:
    client.socket.sendall(RstStreamFrame(99, error_code=8).serialize())
    client.wait_for_the_end()
    assert client.farewell == ErrorCodes.PROTOCOL_ERROR


def test_a_connection_that_vanishes_leaves_nothing(
    client: Client, emulator: RunningEmulator
) -> None:
    emulator.settings(latency_ms=30_000)
    for _ in range(10):
        client.send("a")
    client.socket.shutdown(socket.SHUT_RDWR)
    client.socket.close()
    emulator.settings(latency_ms=1)
