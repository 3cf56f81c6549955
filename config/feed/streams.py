"""All open streams of this process: found by person, and counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import islice

from config.feed.stream import Stream
from config.front.refusals import Refused

MAX_OF_A_PERSON = 10


class TooMany(Refused):
    """One person has too many streams open."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    retry_after = 30

    def text(self) -> str:
        return f"This person has {MAX_OF_A_PERSON} streams open already. Close one of them first."


class Full(Refused):
    """This process has no free stream."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 10

    def text(self) -> str:
        return "All streams of this process are taken. Try again shortly."


class Streams:
    def __init__(self, most: int) -> None:
        self.most = most
        self.of: dict[int, set[Stream]] = defaultdict(set)
        self.rung: dict[int, None] = {}  # people whose inbox has to be looked at, in order
        self.entering = 0  # asked for, and not open yet
        self.count = self.sent = self.cut = 0

    def refuse_if_full(self) -> None:
        if self.count + self.entering >= self.most:
            raise Full

    def add(self, stream: Stream) -> None:
        """Add a stream to its person's streams. Raises TooMany."""
        if len(self.of.get(stream.contact, ())) >= MAX_OF_A_PERSON:
            raise TooMany
        self.of[stream.contact].add(stream)
        self.count += 1

    def remove(self, stream: Stream) -> None:
        self.count -= 1
        theirs = self.of[stream.contact]
        theirs.discard(stream)
        if not theirs:
            del self.of[stream.contact]

    def ring(self, people: Iterable[int]) -> None:
        self.rung.update(dict.fromkeys(self.of.keys() & set(people)))

    def ring_all(self) -> None:
        self.rung.update(dict.fromkeys(self.of))

    def rung_first(self, most: int) -> list[int]:
        """Take the first people whose bell was rung. A ring from here on puts them in again."""
        people = list(islice(self.rung, most))
        for person in people:
            del self.rung[person]
        return people

    def __iter__(self) -> Iterator[Stream]:
        return iter([stream for theirs in self.of.values() for stream in theirs])
