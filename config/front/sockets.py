"""Connections that we have to end: the server itself waits for a slow reader for ever."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import stat
from collections.abc import Iterator

TOGETHER = 0.1  # seconds: connections to cut are collected, and found in one pass
HERE = "/dev/fd"
FILES = 65_536


def allow_many() -> None:
    """Raise the limit of open files: each connection is one, and the usual 1,024 are soon taken."""
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = FILES if hard_limit == resource.RLIM_INFINITY else min(FILES, hard_limit)
    if soft_limit != resource.RLIM_INFINITY and soft_limit < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard_limit))


class Scissors:
    """Cuts connections off, so that a broken answer does not look like a whole one."""

    def __init__(self) -> None:
        self.due: set[tuple[str, int]] = set()

    def cut(self, client: tuple[str, str]) -> None:
        if not self.due:
            asyncio.get_running_loop().call_later(TOGETHER, self._cut)
        self.due.add((client[0], int(client[1])))

    def _cut(self) -> None:
        due, self.due = self.due, set()
        for sock in _open_sockets():
            if _peer_of(sock) in due:
                sock.shutdown(socket.SHUT_RDWR)


def give_up_readers_after(seconds: float) -> None:
    """Let the kernel end a connection whose other end takes nothing for so long (Linux).

    It works even when the whole answer has left us. Connections accepted from now on inherit it
    from the listening socket.
    """
    if not hasattr(socket, "TCP_USER_TIMEOUT"):
        return
    for sock in _open_sockets():
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))


def _open_sockets() -> Iterator[socket.socket]:
    """Every TCP socket of this process, each as a duplicate that is closed again."""
    for name in os.listdir(HERE):  # noqa: PTH208  # numbers, not paths
        try:
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            sock = socket.socket(fileno=os.dup(int(name)))
        except OSError:  # closed meanwhile
            continue
        with sock:
            if sock.family in (socket.AF_INET, socket.AF_INET6):
                yield sock


def _peer_of(sock: socket.socket) -> tuple[str, int] | None:
    try:
        address, port = sock.getpeername()[:2]
    except OSError:
        return None
    return address, port
