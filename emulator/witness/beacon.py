"""What an app does when its notification arrives: it tells the platform, one POST an event.

A queue and a few connections that are kept alive; they come and go with the events.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections import Counter, deque
from urllib.parse import urlsplit

import orjson

from emulator.settings import Settings

MAX_WAITING = 100_000  # for each connection
CONNECTIONS = 8
MAX_ATTEMPTS = 4
RETRY_SECONDS = 1.0
ANSWER_SECONDS = 10.0

Event = tuple[str, str, int]  # receipt, event, attempts so far
Queue = deque[Event]


class Line:
    """One connection to the platform, opened when it is needed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._to = urlsplit(url)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: bytes) -> int:
        """The status of the answer. Any OSError closes the line."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._post(body)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            self.close()
            raise

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
            self._streams = None

    async def _post(self, body: bytes) -> int:
        if self._streams is None:
            self._streams = await self._open()
        reader, writer = self._streams
        target = self._to.path or "/"
        if self._to.query:
            target = f"{target}?{self._to.query}"
        head = (
            f"POST {target} HTTP/1.1\r\nHost: {self._to.netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(answer.split(None, 2)[1])
        _, _, length = answer.partition("content-length:")
        if length and "connection: close" not in answer:
            await reader.readexactly(int(length.split()[0]))
        else:
            self.close()
        return status

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        secure = self._to.scheme == "https"
        # Trusts what SSL_CERT_FILE names, or what the system does.
        context = ssl.create_default_context() if secure else None
        port = self._to.port or (443 if secure else 80)
        return await asyncio.open_connection(self._to.hostname, port, ssl=context)


class Beacon:
    def __init__(self, settings: Settings) -> None:
        self.did: Counter[str] = Counter()
        self._settings = settings
        self._queues: list[Queue] = [deque(maxlen=MAX_WAITING) for _ in range(CONNECTIONS)]
        self._callers: dict[int, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._queues))

    def tell(self, receipt: str, event: str) -> None:
        # What becomes of one message is told over one line, so in the order it happened.
        number = zlib.crc32(receipt.encode()) % CONNECTIONS
        self._queues[number].append((receipt, event, 0))
        if number not in self._callers:
            caller = asyncio.get_running_loop().create_task(self._call(self._queues[number]))
            self._callers[number] = caller
            caller.add_done_callback(lambda _: self._callers.pop(number))

    def forget(self) -> None:
        for queue in self._queues:
            queue.clear()
        self.did.clear()

    async def _call(self, queue: Queue) -> None:
        line: Line | None = None
        try:
            while queue:
                url = self._settings.beacon_url
                if not url:
                    queue.clear()
                    break
                if line is None or line.url != url:
                    line = Line(url)
                await self._tell(line, queue, *queue.popleft())
        finally:
            if line:
                line.close()

    async def _tell(
        self, line: Line, queue: Queue, receipt: str, event: str, attempts: int
    ) -> None:
        try:
            told = {"receipts": [{"id": receipt, "event": event}]}
            status = await line.post(orjson.dumps(told))
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            status = 0  # nobody there, or not one who speaks HTTP
        if 200 <= status < 300:
            self.did["told"] += 1
        elif attempts + 1 < MAX_ATTEMPTS and (status == 429 or not 400 <= status < 500):
            await asyncio.sleep(RETRY_SECONDS)
            queue.append((receipt, event, attempts + 1))
        else:
            self.did["refused" if status else "unheard"] += 1
