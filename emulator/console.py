"""The emulator's own doors, beside FCM's: counts, witness, settings, and a page to watch them."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import orjson

from emulator.addresses import Addresses
from emulator.counts import Counts
from emulator.exchange import Request
from emulator.oauth import TokenDesk
from emulator.replies import Reply, html_reply, json_reply
from emulator.settings import Settings
from emulator.witness import Witness

PAGE = html_reply(
    Path(__file__).with_name("console.html").read_text(encoding="utf-8"),
    headers={
        "Content-Security-Policy": (
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
            "connect-src 'self'; img-src data:"
        )
    },
)
DEFAULT_LIMIT = 100
HIGHEST_LIMIT = 10_000


class BadQuestion(ValueError):
    """The caller asked for something there is not; the message says what to ask instead."""


class Console:
    def __init__(
        self,
        *,
        addresses: Addresses,
        counts: Counts,
        desk: TokenDesk,
        settings: Settings,
        witness: Witness,
        connections: Sized,
    ) -> None:
        self._addresses = addresses
        self._counts = counts
        self._desk = desk
        self._settings = settings
        self._witness = witness
        self._connections = connections
        self._doors = {
            (b"GET", b"/"): self._page,
            (b"GET", b"/healthz"): self._health,
            (b"GET", b"/admin/counts"): self._show_counts,
            (b"GET", b"/admin/settings"): self._show_settings,
            (b"GET", b"/admin/witness"): self._show_witness,
            (b"POST", b"/admin/settings"): self._change_settings,
            (b"POST", b"/admin/revoke"): self._revoke,
            (b"POST", b"/admin/reset"): self._reset,
        }

    def answer(self, request: Request, path: bytes, query: bytes, *, now: float) -> Reply | None:
        """The reply of one of the console's own doors; None for any other path."""
        door = self._doors.get((request.method, path))
        if door is None:
            return None
        try:
            return door(request, dict(parse_qsl(query.decode("latin-1"))), now)
        except ValueError as problem:
            return json_reply({"error": str(problem)}, status=400)

    def _page(self, request: Request, query: dict[str, str], now: float) -> Reply:
        return PAGE

    def _health(self, request: Request, query: dict[str, str], now: float) -> Reply:
        return json_reply({"status": "ok"})

    def _show_counts(self, request: Request, query: dict[str, str], now: float) -> Reply:
        counts = self._counts
        return json_reply(
            {
                "since": counts.since,
                "requests": counts.requests,
                "accepted": counts.accepted,
                "by_answer": dict(counts.answers.most_common()),
                "ids": self._witness.tally.ids,
                "repeats": self._witness.tally.repeated_ids,
                "token_requests": counts.token_requests,
                "tokens_issued": counts.tokens_issued,
                "in_flight": counts.in_flight,
                "peak_in_flight": counts.peak_in_flight,
                "connections": len(self._connections),
                "latency_ms": self._settings.latency_ms,
            }
        )

    def _show_witness(self, request: Request, query: dict[str, str], now: float) -> Reply:
        message_id = query.get("id")
        records = self._witness.find(
            message_id=message_id, address=query.get("address"), limit=_limit(query)
        )
        answer: dict[str, Any] = {"records": records}
        if message_id is not None:
            # Known even when the records are too old to be remembered.
            answer["times_accepted"] = self._witness.tally.times(message_id)
        return json_reply(answer)

    def _show_settings(self, request: Request, query: dict[str, str], now: float) -> Reply:
        return json_reply(
            {
                "latency_ms": self._settings.latency_ms,
                "token_seconds": self._settings.token_seconds,
            }
        )

    def _change_settings(self, request: Request, query: dict[str, str], now: float) -> Reply:
        self._settings.change(orjson.loads(request.body))
        return self._show_settings(request, query, now)

    def _revoke(self, request: Request, query: dict[str, str], now: float) -> Reply:
        return json_reply({"revoked": self._desk.revoke_all()})

    def _reset(self, request: Request, query: dict[str, str], now: float) -> Reply:
        self._counts.reset(now=now)
        self._witness.reset()
        self._addresses.forget()
        return self._show_counts(request, query, now)


def _limit(query: dict[str, str]) -> int:
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not (text.isdecimal() and 1 <= int(text) <= HIGHEST_LIMIT):
        raise BadQuestion(f"limit must be a number from 1 to {HIGHEST_LIMIT}")
    return int(text)
