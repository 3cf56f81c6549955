"""Our own sockets read every answer that aiohttp can read, and find the same in it.

So it never costs an outcome that a project sends over them, whatever a front makes of the answers.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpProcessingError, HttpResponseParser
from hypothesis import event, given
from hypothesis import strategies as st

from notifications.fcm import fcm
from notifications.fcm.fcm import Request, Response
from notifications.fcm.transport.wire import Socket
from tests.servers.rude import answer, chunked, sized

LOOP = asyncio.new_event_loop()
BODY = b'{"name": "projects/shop/messages/1"}'
CHUNKED = b"Transfer-Encoding: chunked"
HEADERS = (b"Retry-After: 30", b"Content-Type: application/json", b"Server: a")
ANSWERS = (
    sized(BODY, *HEADERS),
    sized(BODY, b"Connection: close", status=b"503 Service Unavailable"),
    answer(chunked(BODY[:10], BODY[10:]), CHUNKED, *HEADERS),
    answer(status=b"100 Continue") + sized(BODY, status=b"404 Not Found"),
)
UNUSED: Any = None  # a socket only carries them
PIECES = st.binary(max_size=2) | st.sampled_from(
    [b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b";", b",", b"\0", b"\x01", b"\r\n ", b"0", b"-1"]
)


class Reading(NamedTuple):
    status: int
    retry_after: str | None
    body: bytes


@st.composite
def bent_answers(draw: st.DrawFn) -> bytes:
    """Answers in which up to three places were changed."""
    raw = draw(st.sampled_from(ANSWERS))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(raw)))
        end = start + draw(st.integers(0, 2))
        raw = raw[:start] + draw(PIECES) + raw[end:]
    return raw


class Pool:
    """What a socket tells its pool."""

    response: Response | None = None

    def answered(self, socket: Socket, response: Response) -> None:
        self.response, socket.request = response, None

    def lost(self, socket: Socket, error: Exception) -> None:
        socket.request = None

    def gone(self, socket: Socket) -> None: ...


class Line(asyncio.Transport):
    """A connection on which nothing is lost, and nothing said."""

    def write(self, data: Any) -> None: ...

    def abort(self) -> None: ...

    def is_closing(self) -> bool:
        return False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...


def read_by_wire(raw: bytes) -> Reading | None:
    pool = Pool()
    socket = Socket(pool)
    socket.connection_made(Line())
    socket.ask(Request(batch=UNUSED, message=UNUSED), b"")
    socket.data_received(raw)
    return pool.response and Reading(*pool.response[:3])


def read_by_aiohttp(raw: bytes) -> Reading | None:
    parser = HttpResponseParser(
        BaseProtocol(LOOP),
        LOOP,
        fcm.MAX_BODY,
        max_line_size=fcm.MAX_HEAD,
        max_field_size=fcm.MAX_HEAD,
        read_until_eof=True,
        auto_decompress=False,
    )
    try:
        messages, _, _ = parser.feed_data(raw)
    except HttpProcessingError:
        return None
    for head, body in messages:
        if head.code >= 200:
            retry_after = head.headers.get("Retry-After")
            whole = body.is_eof() and body.exception() is None
            return Reading(head.code, retry_after, body.read_nowait()) if whole else None
    return None


@given(bent_answers())
def test_wire_reads_whatever_aiohttp_reads(raw: bytes) -> None:
    read = read_by_aiohttp(raw)
    event("aiohttp can read it" if read else "nobody needs to read it")
    if read:
        assert read_by_wire(raw) == read
