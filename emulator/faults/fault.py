"""One scripted fault: what goes wrong, for whom, how often and when. Read from JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import orjson

from emulator.faults.addresses import LIVE, Behaviour
from emulator.google.catalogue import CATALOGUE
from emulator.google.envelopes import Answer
from emulator.http.exchange import CLOSE, CUT, CUT_BODY, LAST, RESET, TRICKLE
from emulator.http.replies import reply
from emulator.settings import Check, choice, number, or_none, whole, yes_or_no

SEND, TOKEN, FIGURES = "send", "token", "figures"
JSON = "application/json; charset=UTF-8"
EMPTY = Answer("EMPTY", reply(200, JSON, b"", {}))
TRUNCATED = Answer("TRUNCATED", reply(200, JSON, b'{\n  "name": "projects/carillon-demo/mess', {}))

# Each kind, in the words of the console's form.
KINDS = {
    "answer": "a refusal of the catalogue, or one of your own",
    "hang": "no answer for so many seconds, then the connection ends",
    "drop": "the connection ends without an answer",
    "reset": "the connection is reset",
    "cut": "the connection is reset in the middle of the answer",
    "cut_body": "the same, after the status and the headers",
    "truncated": "a JSON answer that stops in the middle",
    "empty": "200 with an empty body",
    "slow": "a good answer, so many seconds late",
    "trickle": "a good answer, a few bytes at a time over so many seconds",
    "close": "a good answer with Connection: close",
    "idle": "connections end when they were idle for so many seconds",
    "outage": "everything is reset, what is in flight is lost",
    "stall": "new connections get no TLS handshake",
}
WEATHER = ("idle", "stall")  # about connections, not about requests
ALWAYS_ACCEPTED = ("slow", "trickle", "close")
USUALLY_ACCEPTED = ("cut", "cut_body", "truncated", "empty")
MAX_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Fault:
    id: int
    kind: str
    begins_at: float
    ends_at: float | None  # None: until it is removed
    door: str = SEND
    prefix: str = ""
    address: str | None = None
    share: float = 100.0  # percent
    each: str = "request"  # the share is of requests, or of addresses
    times: int | None = None
    first_only: bool = False  # only the first request of a message
    accepted: bool = False  # the message was accepted all the same
    seconds: float = 3.0
    answer: str | dict[str, Any] = "unavailable"
    retry_after: str | None = None
    seed: int = 1

    @property
    def script(self) -> dict[str, Any]:
        return asdict(self)

    def is_at(self, door: str) -> bool:
        return self.door == door or self.kind == "outage"

    def is_on(self, now: float) -> bool:
        return self.begins_at <= now and (self.ends_at is None or now < self.ends_at)

    def behaviour(self) -> Behaviour:
        """What it does to a request; to those of `WEATHER` that never happens."""
        if self.kind == "answer":
            return self._refusal()
        accepts, seconds = self.accepted, self.seconds
        behaviours = {
            "hang": Behaviour("SILENCE", CLOSE, accepts, seconds=seconds),
            "drop": Behaviour("LOST" if accepts else "DROPPED", CLOSE, accepts),
            "cut": Behaviour("CUT", CUT, accepts),
            "cut_body": Behaviour("CUT_BODY", CUT_BODY, accepts),
            "truncated": Behaviour(TRUNCATED.name, accepts=accepts, answer=TRUNCATED),
            "empty": Behaviour(EMPTY.name, accepts=accepts, answer=EMPTY),
            "slow": Behaviour(LIVE.name, accepts=True, seconds=seconds),
            "trickle": Behaviour("TRICKLE", TRICKLE, accepts=True, seconds=seconds),
            "close": Behaviour(LIVE.name, LAST, accepts=True),
            "outage": Behaviour("OUTAGE", RESET, seconds=0.0),
        }
        return behaviours.get(self.kind, Behaviour("RESET", RESET, accepts))

    def _refusal(self) -> Behaviour:
        answer = _answer(self.answer)
        if self.retry_after is not None:
            answer = answer.retry_after(self.retry_after)
        return Behaviour(answer.name, accepts=self.accepted, answer=answer)


def read(script: Any, *, number: int, now: float) -> Fault:
    """A fault as somebody scripted it; ValueError with what is wrong."""
    if not isinstance(script, dict):
        raise ValueError('a fault is a JSON object such as {"kind": "reset", "share": 5}')
    unknown = sorted(script.keys() - CHECKS.keys())
    if unknown:
        raise ValueError(f"unknown in a fault: {', '.join(unknown)}; known: {', '.join(CHECKS)}")
    wanted = {name: CHECKS[name](name, value) for name, value in script.items()}
    kind = wanted.get("kind") or _missing_kind()
    if kind in ALWAYS_ACCEPTED and not wanted.setdefault("accepted", True):
        raise ValueError(f"a message that meets {kind} is always accepted")
    if kind in USUALLY_ACCEPTED:
        wanted.setdefault("accepted", True)
    if kind == "stall" and wanted.get("for") is None:
        raise ValueError('a stall keeps this console out too, so say for how long: "for": 10')
    if kind == "hang":
        wanted.setdefault("seconds", 120.0)
    begins_at = now + wanted.pop("after", 0.0)
    lasts = wanted.pop("for", None)
    ends_at = None if lasts is None else begins_at + lasts
    return Fault(id=number, begins_at=begins_at, ends_at=ends_at, **wanted)


def _missing_kind() -> str:
    raise ValueError(f"kind must be one of {', '.join(KINDS)}")


def _answer(wanted: str | dict[str, Any]) -> Answer:
    if isinstance(wanted, str):
        return CATALOGUE[wanted]
    body = wanted.get("body", "")
    content = body.encode() if isinstance(body, str) else orjson.dumps(body)
    kind = "text/html; charset=UTF-8" if isinstance(body, str) else JSON
    return Answer(f"HTTP_{wanted['status']}", reply(wanted["status"], kind, content, {}))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or "\r" in value or "\n" in value:
        raise ValueError(f"{name} must be text on one line")
    return value


def _answer_of(name: str, value: Any) -> str | dict[str, Any]:
    if isinstance(value, dict):
        status = value.get("status")
        if value.keys() <= {"status", "body"} and type(status) is int and 200 <= status <= 599:
            return value
        raise ValueError(f'{name} of your own: {{"status": 503, "body": "text, or a JSON object"}}')
    if value not in CATALOGUE:
        raise ValueError(f"{name} must be one of {', '.join(CATALOGUE)}")
    return str(value)


def _retry_after(name: str, value: Any) -> str:
    return str(value) if type(value) is int and value >= 0 else _text(name, value)


CHECKS: dict[str, Check] = {
    "kind": choice(*KINDS),
    "door": choice(SEND, TOKEN, FIGURES),
    "prefix": _text,
    "address": or_none(_text),
    "share": number(0, 100),
    "each": choice("request", "address"),
    "times": or_none(whole(1, 1_000_000_000)),
    "first_only": yes_or_no,
    "accepted": yes_or_no,
    "seconds": number(0, MAX_SECONDS),
    "answer": _answer_of,
    "retry_after": or_none(_retry_after),
    "after": number(0, MAX_SECONDS),
    "for": or_none(number(0, MAX_SECONDS)),
    "seed": whole(0, 1_000_000_000),
}
assert CHECKS.keys() - {"after", "for"} <= {field.name for field in fields(Fault)}
