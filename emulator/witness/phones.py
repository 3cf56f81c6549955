"""Simulated phones: what was accepted is received, shown and opened, each a little later.

Some phones are offline. For those FCM keeps messages, as it does: of those with one collapse key
the latest, of the others a hundred, and none beyond its ttl.
"""

from __future__ import annotations

import asyncio
import random
import time
import zlib
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from emulator.google.messages import Message
from emulator.settings import Settings
from emulator.witness import figures
from emulator.witness.beacon import Beacon
from emulator.witness.figures import Figures, Group

LONGEST_TTL_SECONDS = 28 * 24 * 3600
MAX_COLLAPSE_KEYS = 4
MAX_OTHERS = 100
SPREAD = 0.5  # of the log-normal delays: half of all within 0.7 to 1.4 times the median


class Push(NamedTuple):
    """As much of a message as a phone cares about."""

    address: str
    receipt: str | None  # None: it is not asked what became of it
    collapse: str | None  # one with the same replaces it; None: nothing does
    accepted_at: float
    expires_at: float
    shows: bool
    group: Group | None = None  # whose figures it changes

    @classmethod
    def from_message(cls, message: Message, *, at: float, group: Group | None) -> Push:
        document = message.document
        android, apns = document.get("android", {}), document.get("apns", {})
        web, headers = document.get("webpush", {}), apns.get("headers", {})
        own = android.get("notification", {})
        alert = apns.get("payload", {}).get("aps", {}).get("alert")
        shows = bool(document.get("notification") or own or alert or web.get("notification"))
        collapse = message.tag or android.get("collapseKey") or ("" if shows else None)
        ttl = android.get("ttl", web.get("headers", {}).get("TTL", LONGEST_TTL_SECONDS))
        expires_at = at + float(ttl)
        if headers.get("apns-expiration", "").isdecimal():
            expires_at = float(headers["apns-expiration"])
        return cls(message.address, message.receipt, collapse, at, expires_at, shows, group)


class Phones:
    def __init__(self, settings: Settings, figures: Figures, *, seed: int) -> None:
        self.did: Counter[str] = Counter()
        self.beacon = Beacon(settings)
        self._figures = figures
        self._settings = settings
        self._dice = random.Random(seed)
        self._stored: dict[str, list[Push]] = {}
        # The latest notification of those that somebody is about to open.
        self._tray: dict[tuple[str, str | None], Push] = {}

    def receive(self, push: Push) -> None:
        if not self._is_offline(push.address):
            self._later(self._settings.receive_ms, self._arrive, push)
            return
        if push.address not in self._stored:
            self._stored[push.address] = []
            loop = asyncio.get_running_loop()
            loop.call_later(self._settings.offline_seconds, self._come_online, push.address)
        self._stored[push.address] = self._keep(self._stored[push.address], push)

    def forget(self) -> None:
        self.did.clear()
        self._stored.clear()
        self._tray.clear()
        self.beacon.forget()

    # --- offline

    def _is_offline(self, address: str) -> bool:
        share = self._settings.offline_percent
        return share > 0 and zlib.crc32(address.encode()) % 10_000 < share * 100

    def _keep(self, stored: list[Push], push: Push) -> list[Push]:
        """What FCM keeps for an offline phone when one more message comes."""
        if push.collapse is None:
            others = sum(each.collapse is None for each in stored)
            if others >= MAX_OTHERS:
                self.did["discarded"] += others + 1
                lost = [push, *(each for each in stored if each.collapse is None)]
                self._end(lost, figures.TOO_MANY)
                return [each for each in stored if each.collapse is not None]
            return [*stored, push]
        # Of what several processes accepted, the earlier may be told of later.
        rivals = [each for each in stored if each.collapse == push.collapse]
        latest = max([*rivals, push], key=lambda each: each.accepted_at)
        kept = [each for each in stored if each.collapse != push.collapse]
        keys = [each for each in kept if each.collapse is not None]
        if len(keys) >= MAX_COLLAPSE_KEYS:
            kept.remove(keys[0])
        self.did["collapsed"] += len(stored) - len(kept)
        stays = {id(each) for each in (*kept, latest)}
        self._end([each for each in (*stored, push) if id(each) not in stays], figures.COLLAPSED)
        return [*kept, latest]

    def _end(self, lost: list[Push], what: str) -> None:
        for push in lost:
            self._figures.became(push.group, what)

    def _come_online(self, address: str) -> None:
        for push in self._stored.pop(address, []):
            self._arrive(push)

    # --- online

    def _arrive(self, push: Push) -> None:
        if push.expires_at <= time.time():
            self.did["expired"] += 1
            self._figures.became(push.group, figures.EXPIRED)
            return
        self._figures.became(push.group, figures.DELIVERED)
        self._tell(push, "received")
        if not push.shows or not self._happens(self._settings.displayed_percent):
            return
        self._tell(push, "displayed")
        place = push.address, push.collapse
        if self._happens(self._settings.opened_percent):
            self._tray[place] = push
            self._later(self._settings.open_ms, self._open, push)
        elif push.collapse is not None and place in self._tray:
            self._tray[place] = push  # it lies over the one that was to be opened

    def _open(self, push: Push) -> None:
        place = push.address, push.collapse
        # Replaced by a later one with the same tag: there is nothing left to tap.
        if self._tray.get(place) is push:
            del self._tray[place]
            self._tell(push, "opened")

    def _tell(self, push: Push, event: str) -> None:
        self.did[event] += 1
        if push.receipt is not None and self._settings.beacon_url:
            self.beacon.tell(push.receipt, event)

    def _happens(self, percent: float) -> bool:
        return self._dice.random() * 100 < percent

    def _later(self, median_ms: float, then: Callable[[Push], None], push: Push) -> None:
        seconds = median_ms / 1000 * self._dice.lognormvariate(0, SPREAD)
        asyncio.get_running_loop().call_later(seconds, then, push)
