"""An HTTP/2 client that sees what an SDK hides: streams that are reset, windows, farewells."""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass, field
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from hyperframe.frame import Frame, GoAwayFrame

from tests.emulator.running import RunningEmulator

SEND = "/v1/projects/carillon-demo/messages:send"


@dataclass
class Answer:
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    reset_with: int | None = None  # an error code of RST_STREAM
    is_over: bool = False

    @property
    def status(self) -> int:
        return int(self.headers[":status"])


class Http2(H2Connection):
    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        """After a farewell h2 hears nothing more; there are answers under way that it must."""
        event = ConnectionTerminated()
        event.error_code = ErrorCodes(frame.error_code)
        return [], [event]


class Client:
    """One session."""

    def __init__(self, emulator: RunningEmulator, *, window: int | None = None) -> None:
        self.token = emulator.token()
        self.socket = emulator.open_socket("h2")
        self.wire = Http2(H2Configuration(header_encoding="utf-8"))
        self.wire.initiate_connection()
        if window is not None:
            self.wire.update_settings({4: window})
        self.answers: dict[int, Answer] = {}
        self.finished: list[int] = []  # in the order of their ends
        self.farewell: int | None = None  # an error code of GOAWAY
        self.is_closed = False
        self.flush()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    # --- asking

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> int:
        """Send a request; the number of its stream."""
        stream = self.open(method, path, ends=not body, **headers)
        if body:
            self.wire.send_data(stream, body, end_stream=True)
        self.flush()
        return stream

    def open(self, method: str, path: str, *, ends: bool = False, **headers: str) -> int:
        stream = self.wire.get_next_available_stream_id()
        self.wire.send_headers(stream, self.headers(method, path, **headers), end_stream=ends)
        self.answers[stream] = Answer()
        self.flush()
        return stream

    def headers(self, method: str, path: str, **headers: str) -> list[tuple[str, str]]:
        return [
            (":method", method),
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", path),
            *((name.replace("_", "-"), value) for name, value in headers.items()),
        ]

    def upload(self, stream: int, body: bytes) -> None:
        """As much of it as the emulator is willing to take."""
        while body and not self.answers[stream].is_over:
            room = min(self.wire.local_flow_control_window(stream), 16_384)
            if room:
                piece, body = body[:room], body[room:]
                self.wire.send_data(stream, piece, end_stream=not body)
                self.flush()
            else:
                self.hear()

    def send(self, address: str, **data: str) -> int:
        """A message for the address."""
        body = json.dumps({"message": {"token": address, "data": data}}).encode()
        return self.ask("POST", SEND, body, authorization=f"Bearer {self.token}")

    def flush(self) -> None:
        self.socket.sendall(self.wire.data_to_send())

    # --- hearing

    def answer(self, stream: int) -> Answer:
        self.wait_for(stream)
        return self.answers[stream]

    def wait_for(self, *streams: int) -> None:
        """Until these are over, whichever way."""
        while not (self.is_closed or all(self.answers[each].is_over for each in streams)):
            self.hear()

    def wait_for_the_end(self) -> None:
        while not self.is_closed:
            self.hear()

    def hear(self) -> list[Event]:
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            self.is_closed = True
            return []
        events = self.wire.receive_data(data)
        for event in events:
            self._take(event)
        try:
            self.flush()
        except (ConnectionError, ssl.SSLEOFError):  # an acknowledgement nobody is there to read
            self.is_closed = True
        return events

    def _take(self, event: Event) -> None:
        match event:
            case ResponseReceived():
                self.answers[event.stream_id].headers = dict(_texts(event.headers))
            case DataReceived():
                self.answers[event.stream_id].body += event.data
                self.wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded():
                self._finish(event.stream_id)
            case StreamReset():
                self.answers[event.stream_id].reset_with = event.error_code
                self._finish(event.stream_id)
            case ConnectionTerminated():
                self.farewell = event.error_code

    def _finish(self, stream: int) -> None:
        self.answers[stream].is_over = True
        self.finished.append(stream)


def _texts(headers: Any) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in headers]


REFUSED = ErrorCodes.REFUSED_STREAM
FAULT = ErrorCodes.INTERNAL_ERROR
