"""The emulator's own doors, beside FCM's: counts, witness, settings, faults, and a page."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

import orjson

from emulator.doors.parts import FAULTS, REPORT, RESET, REVOKE, SETTINGS, Parts
from emulator.faults import fault
from emulator.faults.fault import Fault
from emulator.faults.faults import MAX_FAULTS
from emulator.google.catalogue import CATALOGUE
from emulator.http.replies import Reply, html_reply, json_reply
from emulator.witness.counts import together
from emulator.witness.ledger import Book

Query = dict[str, str]
Door = Callable[[bytes, Query], Awaitable[Reply]]

PAGE = html_reply(
    Path(__file__).with_name("console.html").read_text(encoding="utf-8"),
    headers={
        "Content-Security-Policy": (
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
            "connect-src 'self'; img-src data:; frame-ancestors 'none'"
        ),
        "X-Frame-Options": "DENY",
    },
)
DEFAULT_LIMIT = 100
HIGHEST_LIMIT = 10_000
USUAL_PAGE = 1_000


class Crew(Protocol):
    """All processes that serve."""

    async def ask(self, command: str, argument: Any = None) -> list[Any]:
        """Have each perform the command; what each answered."""


class Console:
    def __init__(self, *, parts: Parts, crew: Crew, book: Book) -> None:
        self._parts = parts
        self._crew = crew
        self._book = book
        self._since = time.time()
        self._initial_settings = parts.settings.values()
        self._faults: list[Fault] = []
        self._scripted = 0
        self._doors: dict[tuple[bytes, bytes], Door] = {
            (b"GET", b"/"): self._page,
            (b"GET", b"/healthz"): self._health,
            (b"GET", b"/admin/counts"): self._show_counts,
            (b"GET", b"/admin/settings"): self._show_settings,
            (b"GET", b"/admin/witness"): self._show_witness,
            (b"GET", b"/admin/faults"): self._show_faults,
            (b"GET", b"/admin/figures"): self._show_figures,
            (b"POST", b"/admin/settings"): self._change_settings,
            (b"POST", b"/admin/faults"): self._script_faults,
            (b"POST", b"/admin/revoke"): self._revoke,
            (b"POST", b"/admin/reset"): self._reset,
            (b"DELETE", b"/admin/faults"): self._remove_faults,
        }

    async def answer(self, method: bytes, target: bytes, body: bytes) -> Reply | None:
        """The reply of one of the console's own doors; None for any other path."""
        path, _, query = target.partition(b"?")
        door = self._doors.get((method, path))
        if door is None:
            return None
        try:
            return await door(body, dict(parse_qsl(query.decode("latin-1"))))
        except ValueError as problem:
            return json_reply({"error": str(problem)}, status=400)

    async def _page(self, body: bytes, query: Query) -> Reply:
        return PAGE

    async def _health(self, body: bytes, query: Query) -> Reply:
        return json_reply({"status": "ok"})

    async def _show_counts(self, body: bytes, query: Query) -> Reply:
        counts = together(await self._crew.ask(REPORT))
        tally, phones = self._book.witness.tally, self._book.phones
        return json_reply(
            {
                "since": self._since,
                "requests": counts.requests,
                "accepted": counts.accepted,
                "validated": counts.validated,
                "by_answer": dict(counts.answers.most_common()),
                "ids": tally.ids,
                "repeats": tally.repeated_ids,
                "token_requests": counts.token_requests,
                "tokens_issued": counts.tokens_issued,
                "in_flight": counts.in_flight,
                "peak_in_flight": counts.peak_in_flight,
                "connections": counts.connections,
                "processes": self._parts.plan.processes,
                "latency_ms": self._parts.settings.latency_ms,
                "quota_used": self._parts.used_quota(),
                "phones": dict(phones.did),
                "beacon": dict(phones.beacon.did) | {"waiting": len(phones.beacon)},
            }
        )

    async def _show_witness(self, body: bytes, query: Query) -> Reply:
        await self._crew.ask(REPORT)  # whoever reports has handed in what it accepted
        message_id, witness = query.get("id"), self._book.witness
        records = witness.find(
            message_id=message_id, address=query.get("address"), limit=_limit(query)
        )
        answer: dict[str, Any] = {"records": records}
        if message_id is not None:
            # Known even when the records are too old to be remembered.
            answer["times_accepted"] = witness.tally.times(message_id)
        return json_reply(answer)

    async def _show_figures(self, body: bytes, query: Query) -> Reply:
        """Of one project, as FCM's Data API lists them; there one needs a token."""
        await self._crew.ask(REPORT)
        size = min(_whole(query, "pageSize", USUAL_PAGE) or USUAL_PAGE, HIGHEST_LIMIT)
        found = self._book.figures.page(
            query.get("project", ""), query.get("app", ""),
            after=_whole(query, "pageToken", 0), size=size,
        )  # fmt: skip
        return json_reply(found)

    # --- settings

    async def _show_settings(self, body: bytes, query: Query) -> Reply:
        return json_reply(self._parts.settings.values())

    async def _change_settings(self, body: bytes, query: Query) -> Reply:
        wanted = orjson.loads(body)
        self._parts.settings.change(wanted)
        await self._crew.ask(SETTINGS, wanted)
        return await self._show_settings(body, query)

    # --- faults

    async def _show_faults(self, body: bytes, query: Query) -> Reply:
        return json_reply(
            {
                "faults": self._parts.faults.show(time.time()),
                "kinds": fault.KINDS,
                "answers": {word: answer.name for word, answer in CATALOGUE.items()},
            }
        )

    async def _script_faults(self, body: bytes, query: Query) -> Reply:
        """One fault, or a list of them, all or none."""
        document, now = orjson.loads(body), time.time()
        scripts = document if isinstance(document, list) else [document]
        if len(self._faults) + len(scripts) > MAX_FAULTS:
            raise ValueError(f"there can be {MAX_FAULTS} faults at a time; remove some")
        faults = list(self._faults)
        for script in scripts:
            faults.append(fault.read(script, number=self._free_number(faults), now=now))
        await self._put_faults(faults)
        return await self._show_faults(body, query)

    async def _remove_faults(self, body: bytes, query: Query) -> Reply:
        """The one whose id is asked for, or all."""
        kept = [each for each in self._faults if str(each.id) != query.get("id", str(each.id))]
        await self._put_faults(kept)
        return await self._show_faults(body, query)

    def _free_number(self, faults: list[Fault]) -> int:
        """The next number. Hits are counted in a place each, so no two may share theirs."""
        taken = {each.id % MAX_FAULTS for each in faults}
        self._scripted += 1
        while self._scripted % MAX_FAULTS in taken:
            self._scripted += 1
        return self._scripted

    async def _put_faults(self, faults: list[Fault]) -> None:
        self._faults = faults
        scripts = [each.script for each in faults]
        self._parts.perform(FAULTS, scripts)
        await self._crew.ask(FAULTS, scripts)

    # --- beginning anew

    async def _revoke(self, body: bytes, query: Query) -> Reply:
        return json_reply({"revoked": sum(await self._crew.ask(REVOKE))})

    async def _reset(self, body: bytes, query: Query) -> Reply:
        """Forget everything that happened, and every fault; with {"settings": true} those too."""
        await self._crew.ask(RESET)
        self._faults = []
        self._parts.faults.put([])
        self._book.witness.reset()
        self._book.phones.forget()
        self._book.figures.forget()
        self._since = time.time()
        if body and orjson.loads(body) == {"settings": True}:
            await self._change_settings(orjson.dumps(self._initial_settings), query)
        return await self._show_counts(b"", query)


def _limit(query: Query) -> int:
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not (text.isdecimal() and 1 <= int(text) <= HIGHEST_LIMIT):
        raise ValueError(f"limit must be a number from 1 to {HIGHEST_LIMIT}")
    return int(text)


def _whole(query: Query, name: str, usual: int) -> int:
    text = query.get(name, str(usual))
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(f"{name} must be a whole number")
    return int(text)
