"""Ports that nobody listens on."""

from __future__ import annotations

import socket


def free_ports(count: int) -> list[int]:
    """Different ones: all are held until the last is found."""
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [int(server.getsockname()[1]) for server in servers]
    finally:
        for server in servers:
            server.close()
