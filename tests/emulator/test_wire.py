from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable

import pytest

from tests.emulator.conftest import Start
from tests.emulator.running import RunningEmulator

Talk = Callable[[bytes], bytes]
Sender = Callable[..., bytes]

LAST = b"Connection: close"


@pytest.fixture
def talk(emulator: RunningEmulator) -> Talk:
    """Say some bytes on a connection of their own; all that comes back until it is closed."""

    def talk(said: bytes) -> bytes:
        with emulator.open_socket() as connection:
            connection.sendall(said)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    return talk


@pytest.fixture
def sender(emulator: RunningEmulator) -> Sender:
    """The bytes of a send request to an address."""
    token = emulator.token().encode()

    def request(address: bytes, *headers: bytes, chunked: bool = False) -> bytes:
        body = b'{"message":{"token":"%b"}}' % address
        length = b"Content-Length: %d" % len(body)
        if chunked:
            length = b"Transfer-Encoding: chunked"
            half = len(body) // 2
            parts = (body[:half], body[half:], b"")
            body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        lines = [
            b"POST /v1/projects/carillon-demo/messages:send HTTP/1.1",
            b"Host: emulator",
            b"AUTHORIZATION: Bearer " + token,
            length,
            *headers,
        ]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    return request


def test_a_connection_is_kept_until_the_client_says_close(
    emulator: RunningEmulator, sender: Sender, talk: Talk
) -> None:
    answers = talk(sender(b"a") + sender(b"b", LAST))
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == 2
    assert answers.count(b"\r\nConnection: close\r\n") == 1
    first, second = emulator.witnessed()
    assert first["connection"] == second["connection"]


def test_pipelined_answers_keep_the_order_of_the_requests(
    emulator: RunningEmulator, sender: Sender, talk: Talk
) -> None:
    emulator.settings(latency_ms=50)
    unknown = b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
    answers = talk(sender(b"a") + unknown + sender(b"dead-1") + unknown + sender(b"b", LAST))
    statuses = re.findall(rb"HTTP/1.1 (\d+)", answers)
    assert statuses == [b"200", b"404", b"404", b"404", b"200"]


def test_a_crowd_of_pipelined_requests_is_answered_one_by_one(
    emulator: RunningEmulator, sender: Sender, talk: Talk
) -> None:
    crowd = b"".join(sender(b"device-%d" % n) for n in range(500))
    answers = talk(crowd + sender(b"last", LAST))
    assert answers.count(b"HTTP/1.1 200 OK\r\n") == 501
    assert len(emulator.witnessed(limit="1000")) == 501
    assert emulator.counts()["in_flight"] == 0


def test_a_lost_answer_ends_the_connection_for_those_behind_it(
    emulator: RunningEmulator, sender: Sender, talk: Talk
) -> None:
    emulator.settings(latency_ms=20)
    assert talk(sender(b"lost-1") + sender(b"a")) == b""
    assert emulator.counts()["in_flight"] == 0


def test_a_chunked_body_is_read(sender: Sender, talk: Talk) -> None:
    assert talk(sender(b"a", LAST, chunked=True)).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_request_may_come_byte_by_byte(emulator: RunningEmulator, sender: Sender) -> None:
    request = sender(b"a", LAST)
    with emulator.open_socket() as connection:
        for position in range(len(request)):
            connection.sendall(request[position : position + 1])
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_client_that_waits_for_a_go_ahead_gets_it(
    emulator: RunningEmulator, sender: Sender
) -> None:
    head, _, body = sender(b"a", LAST, b"Expect: 100-continue").partition(b"\r\n\r\n")
    with emulator.open_socket() as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    "said",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_gets_400_and_the_door(talk: Talk, said: bytes) -> None:
    answer = talk(said)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n")
    assert answer.count(b"HTTP/1.1") == 1


def test_a_body_of_64_kb_is_read_and_one_of_a_megabyte_is_not(
    emulator: RunningEmulator, talk: Talk
) -> None:
    assert emulator.send({"token": "a", "data": {"k": "x" * 64_000}}).status == 400
    head = b"POST /token HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    answer = talk(head + b"x" * 200_000)
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("path", ["/v1/projects/p/messages", "/fcm/send", "/<script>", "//", "/%"])
def test_an_unknown_path_gets_googles_page(emulator: RunningEmulator, path: str) -> None:
    answer = emulator.ask("POST", path, "{}")
    assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=UTF-8")
    assert "<script>" not in answer.text


def test_query_parameters_of_googles_do_not_matter(emulator: RunningEmulator) -> None:
    answer = emulator.ask(
        "POST",
        "/v1/projects/carillon-demo/messages:send?prettyPrint=false&alt=json",
        '{"message": {"token": "a"}}',
        {"Authorization": f"Bearer {emulator.token()}"},
    )
    assert answer.status == 200


def test_a_stranger_who_speaks_no_tls_disturbs_nobody(start: Start) -> None:
    emulator = start()
    with socket.create_connection(("127.0.0.1", emulator.port)) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        plain.recv(4096)
    stranger = ssl.create_default_context()
    with (
        socket.create_connection(("127.0.0.1", emulator.port)) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        stranger.wrap_socket(plain, server_hostname="127.0.0.1")
    assert emulator.ask("GET", "/healthz").json == {"status": "ok"}
    assert emulator.stop() == (0, "")
