"""Connections that behave badly: slow in the head, in the body, in reading; and what came of it."""

from __future__ import annotations

import resource
import select
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

SILENT = b""
HALF_A_HEAD = b"GET /admin/login/ HTTP/1.1\r\nHost: localhost\r\nX-"
# With the cookie Django reads the body, to compare the token in it.
A_FORM = (f"Cookie: csrftoken={'a' * 32}", "Content-Type: application/x-www-form-urlencoded")


def post(path: str, length: int, *headers: str, sent: bytes = b"csrf") -> bytes:
    """A POST whose body is announced, and not all there."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + sent


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


@contextmanager
def callers(url: str, count: int, said: bytes, *, room: int = 0) -> Iterator[list[socket.socket]]:
    """So many, each having said that much. `room`: how much of an answer each takes unread."""
    _allow(count + 500)
    where = urlsplit(url)
    found: list[socket.socket] = []
    try:
        for _ in range(count):
            caller = socket.socket()
            found.append(caller)
            if room:
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            caller.settimeout(30)
            caller.connect((where.hostname, where.port))
            caller.sendall(said)
        yield found
    finally:
        for caller in found:
            caller.close()


def heard(caller: socket.socket) -> bytes:
    """All that is said to it until the other end closes, or falls silent for long."""
    said = b""
    try:
        while part := caller.recv(65536):
            said += part
    except (ConnectionError, TimeoutError):
        pass
    return said


def waiting(callers: Iterable[socket.socket]) -> int:
    """How many are neither answered nor closed."""
    poll = select.poll()
    total = 0
    for caller in callers:
        poll.register(caller, select.POLLIN)
        total += 1
    return total - len(poll.poll(0))


def connections_to(url: str) -> int:
    """Those that the server has not ended."""
    port, established = f":{urlsplit(url).port:04X}", "01"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return sum(line[1].endswith(port) and line[3] == established for line in lines)


def files_of(pid: int) -> int:
    """Sockets among them."""
    return sum(len(list(Path(f"/proc/{each}/fd").iterdir())) for each in family(pid))


def threads_of(pid: int) -> int:
    return sum(len(list(Path(f"/proc/{each}/task").iterdir())) for each in family(pid))


def memory_of(pid: int) -> int:
    """Bytes, of it and its children."""
    pages = (Path(f"/proc/{each}/statm").read_text().split()[1] for each in family(pid))
    return sum(map(int, pages)) * resource.getpagesize()


def family(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in family(int(child)))]


def _allow(files: int) -> None:
    ours, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if ours < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, most), most))
