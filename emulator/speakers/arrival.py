"""A connection on its way in: TLS has agreed on a language, and whoever speaks it takes over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from emulator.speakers.certificates import HTTP2
from emulator.speakers.connection import Connection
from emulator.speakers.session import Session
from emulator.speakers.speaker import Speaker

Introduce = Callable[[type[Speaker]], Speaker]


class Arrival(asyncio.Protocol):
    def __init__(self, introduce: Introduce) -> None:
        self._introduce = introduce

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        spoken = transport.get_extra_info("ssl_object").selected_alpn_protocol()
        speaker = self._introduce(Session if spoken == HTTP2 else Connection)
        cast(asyncio.Transport, transport).set_protocol(speaker)
        speaker.connection_made(transport)
