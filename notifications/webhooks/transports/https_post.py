"""HTTPS requests to a checked address, one at a time. They use no database.

The client is plain and blocking: we choose where it connects, and no proxy or redirect changes
that. The other side may be slow, endless or hostile. So all of it is bounded: the time to connect,
the total time, and how much of the answer is read.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ValidationError

from notifications.trust import trusting
from notifications.webhooks.call import LONGEST_ANSWER, Call
from notifications.webhooks.transports import url_guard
from notifications.webhooks.transports.url_guard import CallTarget, Forbidden

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 15.0  # from the name to the end of the answer
LONGEST_DATE = 40  # characters
NOISE = re.compile(r"\[[^\]]*\]\s*|\s*\(_ssl\.c:\d+\)")  # “[Errno 111] ”, “ (_ssl.c:1006)”
NO_HEADS = (405, 501)
MAX_READ = 16_384  # bytes; nobody would read what comes after
Error = Call.Error


@dataclass(frozen=True)
class Bounds:
    """The limits of one request, however the other side behaves."""

    seconds: float = TOTAL_SECONDS
    read: int = MAX_READ  # bytes
    kept: int = LONGEST_ANSWER  # characters


ALWAYS = Bounds()


@dataclass(frozen=True)
class Answer:
    """The result of one try: the receiver's answer, or the error."""

    status: int | None = None
    text: str = ""
    error: str = ""  # of Error
    took_ms: int = 0
    retry_after: float | None = None  # seconds

    @property
    def accepted(self) -> bool:
        return not self.error and (self.status is None or 200 <= self.status < 300)

    @property
    def gone(self) -> bool:
        return self.status == 410


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send a POST request. Never raises for what the other side did."""
    return _try_call("POST", url, body, headers, ALWAYS)


def look(url: str) -> Answer:
    """Check whether a page is there, by a HEAD request, or by GET if the host knows no HEAD.

    A redirect is not followed. Never raises for what the other side did.
    """
    answer = _try_call("HEAD", url, None, {}, ALWAYS)
    return _try_call("GET", url, None, {}, ALWAYS) if answer.status in NO_HEADS else answer


def fetch(url: str, bounds: Bounds) -> Answer:
    """Fetch a page and its text, which must be there in time.

    A redirect is not followed. Never raises for what the other side did.
    """
    answer = _try_call("GET", url, None, {}, bounds)
    if not answer.error and answer.took_ms >= 1_000 * bounds.seconds:
        return replace(answer, status=None, text="", error=Error.TIMEOUT)
    return answer


def _try_call(
    method: str, url: str, body: bytes | None, headers: Mapping[str, str], bounds: Bounds
) -> Answer:
    began = now()
    try:
        status, text, after = _ask(method, url_guard.parse(url), body, headers, bounds)
        return Answer(status, text, took_ms=since(began), retry_after=after)
    except Exception as error:  # of a dozen libraries' kinds; each is a try that failed
        return failed(error, began, otherwise=Error.BROKEN)


def failed(error: Exception, began: float, *, otherwise: str) -> Answer:
    code = _code(error) or otherwise
    text = "" if code == Error.FORBIDDEN else _text_of(error)
    return Answer(text=_clean(text), error=code, took_ms=since(began))


def _text_of(error: Exception) -> str:
    """The error in its library's words, without the library's own numbers and lines."""
    return NOISE.sub("", str(error)).strip() or type(error).__name__


def _ask(
    method: str, place: CallTarget, body: bytes | None, headers: Mapping[str, str], bounds: Bounds
) -> tuple[int, str, float | None]:
    ends_at = time.monotonic() + bounds.seconds
    found = url_guard.resolve(place)
    with _connect(place, found, ends_at) as wire, _end_at(wire, ends_at):
        connection = http.client.HTTPConnection(place.host, place.port)
        connection.sock = wire
        try:
            if isinstance(wire, ssl.SSLSocket):
                wire.do_handshake()
            ours = {"Host": place.netloc, "User-Agent": "Carillon", "Connection": "close"}
            connection.request(method, place.path, body, {**headers, **ours})
            reply = connection.getresponse()
            text = _clean(_text(reply, bounds.read), bounds.kept)
            return reply.status, text, _retry_after(reply)
        except OSError as error:
            if time.monotonic() < ends_at:
                raise
            raise TimeoutError("no answer in time") from error  # it broke because we ended it
        finally:
            connection.close()


@contextlib.contextmanager
def _connect(place: CallTarget, addresses: list[str], ends_at: float) -> Iterator[socket.socket]:
    """Connect to the first address that accepts. The certificate must be of the name."""
    bare = _connect_first(place, addresses, ends_at)
    try:
        wire = bare if place.without_tls else _wrap_in_tls(bare, place.host)
    except BaseException:
        bare.close()
        raise
    with wire:
        wire.settimeout(max(ends_at - time.monotonic(), 0.1))
        yield wire


def _wrap_in_tls(bare: socket.socket, host: str) -> ssl.SSLSocket:
    trust = _trust(settings.OUTGOING_CA_FILE)
    return trust.wrap_socket(bare, server_hostname=host, do_handshake_on_connect=False)


def _connect_first(place: CallTarget, addresses: list[str], ends_at: float) -> socket.socket:
    ends_at = min(ends_at, time.monotonic() + CONNECT_SECONDS)
    trouble: OSError = TimeoutError("no answer in time")
    for address in addresses:
        seconds = ends_at - time.monotonic()
        try:
            return socket.create_connection((address, place.port), timeout=max(seconds, 0.1))
        except OSError as error:
            trouble = error
            if seconds <= 0:
                break
    raise trouble


@contextlib.contextmanager
def _end_at(wire: socket.socket, ends_at: float) -> Iterator[None]:
    """End the connection at `ends_at`, whatever happens.

    A socket's own limit begins anew with each byte: one byte a second would last for ever.
    """

    def end() -> None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(wire, socket.SHUT_RDWR)

    clock = threading.Timer(max(ends_at - time.monotonic(), 0.0), end)
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()


@lru_cache(maxsize=4)
def _trust(ca_file: str | None) -> ssl.SSLContext:
    """Trust the system's authorities, and the operator's own one, if there is one."""
    context = trusting()
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    return context


def _text(reply: http.client.HTTPResponse, most: int) -> str:
    """The beginning of the reply. If it breaks off after the status, the status still counts."""
    try:
        return reply.read(most).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""


def _retry_after(reply: http.client.HTTPResponse) -> float | None:
    """How many seconds the receiver asks us to wait. It sends seconds, or a date."""
    header = (reply.getheader("Retry-After") or "").strip()[:LONGEST_DATE]
    if header.isdecimal():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _clean(text: str, most: int = LONGEST_ANSWER) -> str:
    """The beginning of the text, without NUL, which PostgreSQL cannot store."""
    return text.replace("\x00", "")[:most]


def _code(error: Exception) -> str:
    if isinstance(error, Forbidden | ValidationError):
        return Error.FORBIDDEN
    if isinstance(error, socket.gaierror):
        return Error.NO_NAME
    if isinstance(error, TimeoutError):
        return Error.TIMEOUT
    if isinstance(error, ssl.SSLError):
        return Error.TLS
    if isinstance(error, ConnectionRefusedError) or (
        isinstance(error, OSError) and error.errno in (101, 113)
    ):
        return Error.UNREACHABLE
    return ""


def now() -> float:
    return time.monotonic()


def since(began: float) -> int:
    """The milliseconds since then."""
    return int((time.monotonic() - began) * 1000)
