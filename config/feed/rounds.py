"""Rounds: find what is new for the people whose inbox changed, and send it to their streams.

One reader serves all streams. A round asks for many people at once, so that a message to a thousand
costs a few queries. For each of them it asks for a bounded number of items, so that ten thousand to
one person do not keep the others waiting.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from django.db import close_old_connections, connection
from django.utils import timezone

from config.feed.stream import Stream, event
from config.feed.streams import Streams
from config.front.dispatch.threads import Threads
from notifications.api.base.rendering import as_json
from notifications.api.person.inbox import item_json
from notifications.inbox import new_items, online_people
from notifications.inbox.new_items import News
from notifications.inbox.reading import items_numbered
from notifications.inbox.stream_position import NAMED_AT_START, Position
from notifications.keys.inbox_secret import InboxSecret
from notifications.people.contact import Contact
from notifications.postgres.outage import DATABASE_TROUBLE

TOGETHER = 0.05  # seconds: rings of the same moment are one round
PEOPLE = 100  # of one part of a round
MAX_SENT = 200  # items at once; an app that missed more reads the list
ALL_EVERY = 10.0  # seconds: then everybody is looked at, without a ring
BEAT_EVERY = 20.0
AGAIN = 1.0  # seconds after PostgreSQL was away

log = logging.getLogger(__name__)
Said = TypeVar("Said")


class Rounds:
    def __init__(self, streams: Streams, port: int) -> None:
        self.streams = streams
        self.name = f"{socket.gethostname()}:{port}"
        self.rows = Threads("rows", 1)
        self.is_away = False

    async def go(self) -> None:
        """Run rounds for ever."""
        while True:
            await asyncio.sleep(TOGETHER)
            try:
                await self._look()
                self.is_away = False
            except DATABASE_TROUBLE as error:
                self._note_outage(error)
                await asyncio.sleep(AGAIN)

    async def look_at_all(self) -> None:
        """For ever: ring for everybody, note who is online, and end streams that may not go on."""
        while True:
            for deed in (self._end_what_has_ended, self._note):
                with suppress(*DATABASE_TROUBLE):  # the rounds say so
                    await deed()
            self.streams.ring_all()
            await asyncio.sleep(ALL_EVERY)

    async def beat(self) -> None:
        """Send heartbeats for ever."""
        while True:
            await asyncio.sleep(BEAT_EVERY)
            for stream in self.streams:
                stream.beat()

    async def _look(self) -> None:
        for _ in range(0, len(self.streams.rung), PEOPLE):
            people = self.streams.rung_first(PEOPLE)
            try:
                await self._tell(people)
            except DATABASE_TROUBLE:
                self.streams.ring(people)
                raise

    async def _tell(self, people: list[int]) -> None:
        """Send these people's streams what is new.

        A stream that opens meanwhile has rung its own bell.
        """
        theirs = {
            person: list(self.streams.of[person]) for person in people if person in self.streams.of
        }
        floors = {
            person: min(stream.position.floor for stream in theirs[person]) for person in theirs
        }
        if not floors:
            return
        if new := [person for person in theirs if any(stream.is_new for stream in theirs[person])]:
            await self._read(lambda: online_people.came(new))
        news_by_person = await self._read(lambda: new_items.news_of(floors))
        numbers = {
            number
            for person, streams in theirs.items()
            for stream in streams
            if not stream.is_new
            for number in stream.position.unseen(news_by_person[person].numbers)[-MAX_SENT:]
        }
        texts = await self._read(lambda: _serialize_items(numbers)) if numbers else {}
        for person, news in news_by_person.items():
            for stream in theirs[person]:
                self._put_news(stream, news, texts)

    def _put_news(self, stream: Stream, news: News, texts: dict[int, bytes]) -> None:
        if stream.is_late:
            self.streams.cut += 1
            stream.cut_off()
            return
        now = time.monotonic()
        if stream.position.floor > news.newest:
            self._begin_anew(stream, now)
            return
        if stream.is_new:
            begin_at(stream, news, now=now)
        position = stream.position
        new = position.unseen(news.numbers)
        if len(new) > MAX_SENT or position.take_missed_check(now=now):
            position.see(new[:-MAX_SENT], now=now)
            stream.put(event("gap", b"{}", str(position)))
        for number in new[-MAX_SENT:]:
            position.see([number], now=now)
            if number in texts:  # else it was erased meanwhile
                stream.put(event("item", texts[number], str(position)))
                self.streams.sent += 1
        position.settle(now=now)
        self._put_counts(stream, news)

    def _begin_anew(self, stream: Stream, now: float) -> None:
        """Begin a stream again, because its position lies ahead of all items.

        Such a position comes from another database.
        """
        stream.put(event("gap", b"{}"))
        stream.position, stream.is_new = Position(now=now), True
        self.streams.ring([stream.contact])

    def _put_counts(self, stream: Stream, news: News) -> None:
        counts = as_json({"unseen": news.unseen, "unread": news.unread})
        if counts != stream.counts:
            stream.counts = counts
            stream.put(event("counts", counts, str(stream.position)))

    async def _note(self) -> None:
        people, streams = list(self.streams.of), self.streams
        sums = {"streams": streams.count, "sent": streams.sent, "cut": streams.cut}
        await self._read(lambda: online_people.note(self.name, people, **sums))
        await self._read(online_people.forget)

    async def _end_what_has_ended(self) -> None:
        streams = list(self.streams)
        people, secrets = await self._read(lambda: _find_valid(streams))
        now = timezone.now()
        for stream in streams:
            is_good = stream.contact in people and stream.secret in secrets
            if not is_good or stream.expires_at <= now:
                stream.end()

    async def _read(self, deed: Callable[[], Said]) -> Said:
        return await self.rows.run(lambda: _read(deed))

    def _note_outage(self, error: Exception) -> None:
        if not self.is_away:
            log.warning("streams wait while PostgreSQL is in trouble: %s", error)
        self.is_away = True


def begin_at(stream: Stream, news: News, *, now: float) -> None:
    """Set the position of a new stream to now.

    The newest few items count as sent, but not all below them: one may still be about to be
    committed.
    """
    *_, floor = 0, *news.numbers[:-NAMED_AT_START]
    stream.position = Position(floor, news.numbers[-NAMED_AT_START:], now=now)
    stream.is_new = False


def _read(deed: Callable[[], Said]) -> Said:
    """Run a query with a connection that works; after trouble the next query gets a new one."""
    close_old_connections()
    try:
        return deed()
    except DATABASE_TROUBLE:
        connection.close()
        raise


def _serialize_items(numbers: set[int]) -> dict[int, bytes]:
    return {item.pk: as_json(item_json(item)) for item in items_numbered(numbers)}


def _find_valid(streams: list[Stream]) -> tuple[set[int], set[str]]:
    """Which of the streams' people still exist, and which of their secrets are still valid."""
    people = Contact.objects.filter(pk__in={stream.contact for stream in streams})
    secrets = InboxSecret.good({stream.secret for stream in streams}, now=timezone.now())
    return set(people.values_list("pk", flat=True)), secrets
