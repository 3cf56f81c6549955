"""What asyncio has no word for: a connection that ends with RST instead of a farewell."""

from __future__ import annotations

import asyncio
import os
import socket
import struct

LINGER_ZERO = struct.pack("ii", 1, 0)


def reset(transport: asyncio.Transport) -> None:
    """Make the kernel send RST: a lingering time of zero throws the connection away."""
    if transport.is_closing():
        return
    # Through a duplicate, because uvloop's own socket object refuses setsockopt.
    descriptor = os.dup(transport.get_extra_info("socket").fileno())
    with socket.socket(fileno=descriptor) as duplicate:
        duplicate.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
    transport.abort()
