"""Limits of a web process: threads, sizes, times and memory."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """Limits of one process.

    `body_bytes`: to the API with a key. `pages_bytes`: with a session's cookie.
    `strangers_bytes`: everybody else.
    `threads`: each has a connection to PostgreSQL. `waiting`: whole requests beyond these.
    `places`: callers who keep us waiting, of the 4,096 connections that `serving.py` takes.
    `memory`: unfinished bodies and answers, all together; it takes 16 of the largest bodies.
    `sender_seconds`: while a request waits so long for a thread, no other that sends is let in.
    `reader_seconds`: for each 64 kB of an answer.
    """

    threads: int = 8
    waiting: int = 2_000
    places: int = 2_000
    sender_seconds: float = 5
    body_seconds: float = 30
    body_bytes: int = 8 * MEGABYTE
    pages_bytes: int = MEGABYTE
    strangers_bytes: int = 64 * 1024
    memory: int = 128 * MEGABYTE
    reader_seconds: float = 60
