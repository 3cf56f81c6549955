"""TLS in front of a server that speaks none: the embedded Valkey is built without it."""

from __future__ import annotations

import asyncio
import ssl
import threading
from contextlib import suppress


class TlsRelay:
    """Serves from a thread of its own until it is stopped."""

    def __init__(self, port: int, tls: ssl.SSLContext, *, host: str = "127.0.0.1") -> None:
        self._target, self._tls, self._host = port, tls, host
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _listen(self) -> int:
        server = await asyncio.start_server(self._join, self._host, 0, ssl=self._tls)
        return int(server.sockets[0].getsockname()[1])

    async def _hang_up(self) -> None:
        joined = asyncio.all_tasks() - {asyncio.current_task()}
        for each in joined:
            each.cancel()
        await asyncio.gather(*joined, return_exceptions=True)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
