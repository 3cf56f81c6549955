"""One client's socket: HTTP/2 in, each stream answered when its answer is due.

To one request its stream is what the connection is in HTTP/1.1. So a fault that ends, resets or
cuts off "the connection" does that to the stream, and its neighbours go on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import ProtocolError
from hyperframe.frame import GoAwayFrame

from emulator.http.exchange import LAST, Reaction, Request
from emulator.speakers.connection import TOO_LARGE
from emulator.speakers.speaker import Speaker
from emulator.speakers.stream import Stream

CONFIGURATION = H2Configuration(
    client_side=False,
    header_encoding=None,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
)
MAX_BODY_BYTES = 64 * 1024
# Of all uploads together: with HTTP/2's own 64 kB they would wait for each other.
WINDOW_BYTES = 1 << 20
# A hundred streams may time out at once, and another hundred in the same second.
MAX_RESETS_A_SECOND = 200


class Http2(H2Connection):
    DEFAULT_MAX_HEADER_LIST_SIZE = 16 * 1024


class Session(Speaker):
    # --- the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._http2 = Http2(CONFIGURATION)
        self._streams: dict[int, Stream] = {}
        self._due: list[Stream] = []
        self._retired = False
        self._second = 0
        self._resets = 0
        self._http2.initiate_connection()
        self._http2.increment_flow_control_window(WINDOW_BYTES)
        self._write()

    def connection_lost(self, problem: Exception | None) -> None:
        super().connection_lost(problem)
        if self._idle:
            self._idle.cancel()
        for stream in self._streams.values():
            self._drop(stream)
        self._streams.clear()

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._http2.receive_data(data):
                self._take(event)
            self._go_on()
        except ProtocolError:
            self._close()  # with the GOAWAY that says why

    def retire(self) -> None:
        if not self._retired:
            self._retired = True
            # By hand: after a GOAWAY of its own making h2 lets nobody answer any more.
            last = self._http2.highest_inbound_stream_id
            self._write(GoAwayFrame(last_stream_id=last).serialize())
        if not self._streams:
            self._close()

    def _in_flight(self) -> bool:
        return bool(self._streams)

    def _write(self, farewell: bytes = b"") -> None:
        data = self._http2.data_to_send() + farewell
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def _close(self) -> None:
        self._write()
        self._transport.close()

    # --- what the client says

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived():
                self._open(event.stream_id, event.headers)
            case DataReceived():
                self._read(event)
            case StreamEnded():
                self._ask(event.stream_id)
            case StreamReset():
                self._give_up(event.stream_id)
            case ConnectionTerminated():
                self._close()  # h2 lets nobody answer any more

    def _open(self, number: int, headers: Iterable[Any]) -> None:
        if self._retired:
            self._http2.reset_stream(number, ErrorCodes.REFUSED_STREAM)
            return
        if self._idle:
            self._idle.cancel()
            self._idle = None
        request = Request(self._number)
        for name, value in headers:
            if name == b":method":
                request.method = value
            elif name == b":path":
                request.target = value
            elif name == b"authorization":
                request.authorization = value
            elif name in (b":authority", b"host"):
                request.host = value
            elif name == b"origin":
                request.origin = value
        self._streams[number] = Stream(number, request)

    def _read(self, event: DataReceived) -> None:
        self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        stream = self._streams.get(event.stream_id)
        if stream and not stream.reaction.payload:
            stream.request.body += event.data
            if len(stream.request.body) > MAX_BODY_BYTES:
                self._react(stream, Reaction(TOO_LARGE.dated(time.time())))

    def _ask(self, number: int) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        stream.is_asked = True
        if stream.reaction.payload:
            return  # it was too large
        reaction = self._handle(stream.request)
        if isinstance(reaction, Reaction):
            self._react(stream, reaction)
        else:
            stream.task = self._loop.create_task(self._hear(stream, reaction))

    def _give_up(self, number: int) -> None:
        """The client wants no answer any more; who does that without end is sent away."""
        stream = self._streams.pop(number, None)
        if stream:
            self._drop(stream)
        second = int(self._loop.time())
        if second != self._second:
            self._second, self._resets = second, 0
        self._resets += 1
        if self._resets > MAX_RESETS_A_SECOND:
            self._http2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            self._close()

    # --- what it is answered

    async def _hear(self, stream: Stream, reaction: Awaitable[Reaction]) -> None:
        """Answer when the reaction is known."""
        try:
            stream.reaction = await reaction
        except Exception:
            self._transport.abort()  # a bug of ours: the loop reports it
            raise
        stream.task = None
        self._due.append(stream)
        self._go_on()

    def _react(self, stream: Stream, reaction: Reaction) -> None:
        stream.reaction = reaction
        if reaction.delay:
            self._wait(stream, reaction.delay)
        else:
            self._due.append(stream)

    def _wait(self, stream: Stream, seconds: float) -> None:
        self._counts.began()
        stream.timer = self._loop.call_later(seconds, self._come_due, stream)

    def _come_due(self, stream: Stream) -> None:
        stream.timer = None
        self._counts.end_request()
        self._due.append(stream)
        self._go_on()

    def _go_on(self) -> None:
        """Send all that can be sent: not before everything that was read has been heard.

        A client may ask and give up in one breath, and h2 sends nothing to a stream that is gone.
        """
        due, self._due = self._due, []
        if self._transport.is_closing():
            return
        for stream in due:
            if stream.id in self._streams:
                self._answer(stream)
        for stream in tuple(self._streams.values()):
            self._send(stream)
        self._write()
        if self._retired and not self._streams:
            self._close()

    def _answer(self, stream: Stream) -> None:
        """Begin the answer, or go on with one that trickles."""
        if not stream.is_answered:
            if stream.reaction.ending is LAST:
                self.retire()
            headers = stream.answer()
            if headers:
                ends = stream.is_sent and not stream.breaks_off
                self._http2.send_headers(stream.id, headers, end_stream=ends)
        stream.release()
        if stream.held:
            self._wait(stream, stream.pause)

    def _send(self, stream: Stream) -> None:
        """What the client's window has room for; with the last of it the stream is over."""
        while stream.unsent:
            room = min(
                self._http2.local_flow_control_window(stream.id),
                self._http2.max_outbound_frame_size,
            )
            if room <= 0:
                return
            piece, stream.unsent = stream.unsent[:room], stream.unsent[room:]
            ends = stream.is_sent and not stream.breaks_off
            self._http2.send_data(stream.id, piece, end_stream=ends)
        if stream.is_sent:
            self._end(stream)

    def _end(self, stream: Stream) -> None:
        del self._streams[stream.id]
        if stream.breaks_off:
            self._http2.reset_stream(stream.id, ErrorCodes.INTERNAL_ERROR)
        elif not stream.is_asked:
            self._http2.reset_stream(stream.id, ErrorCodes.NO_ERROR)  # send no more of it
        if self._weather.idle_seconds is not None and not self._streams:
            self._idle = self._loop.call_later(self._weather.idle_seconds, self.retire)

    def _drop(self, stream: Stream) -> None:
        if stream.timer:
            stream.timer.cancel()
            self._counts.end_request()
        if stream.task:
            stream.task.cancel()
