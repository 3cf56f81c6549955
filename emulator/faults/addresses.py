"""What becomes of a message for an address. The address says so itself, up to its first "-".

So a test or a demo picks its answers by the tokens it registers, and nothing has to be scripted.
Any word of `catalogue.py` is such a prefix; the table here adds what is not one lasting refusal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulator.google.catalogue import (
    CATALOGUE,
    INTERNAL,
    QUOTA_EXCEEDED,
    SENDER_ID_MISMATCH,
    UNAVAILABLE,
)
from emulator.google.envelopes import Answer
from emulator.http.exchange import ANSWER, CLOSE, RESET, Ending
from emulator.shared import Table


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The end of one request: how, whether the message was accepted, and the name of it."""

    name: str
    ending: Ending = ANSWER
    accepts: bool = False
    answer: Answer | None = None  # None: the answer of an accepted message
    only_first: bool = False
    seconds: float | None = None  # None: after the latency everything has


def refuses(answer: Answer) -> Behaviour:
    return Behaviour(answer.name, answer=answer)


def at_first(behaviour: Behaviour) -> Behaviour:
    """Only the first request of a message meets this; a second attempt finds a live device."""
    return replace(behaviour, only_first=True)


LIVE = Behaviour("ACCEPTED", accepts=True)
DEAD = refuses(CATALOGUE["dead"])
FOREIGN = refuses(SENDER_ID_MISMATCH)

BEHAVIOURS = {word: refuses(answer) for word, answer in CATALOGUE.items()} | {
    "flaky": at_first(refuses(UNAVAILABLE)),
    "throttled": at_first(refuses(QUOTA_EXCEEDED)),
    "limited": at_first(refuses(CATALOGUE["devicerate"])),
    "broken": at_first(refuses(INTERNAL)),
    "lost": at_first(Behaviour("LOST", CLOSE, accepts=True)),
    "reset": at_first(Behaviour("RESET", RESET)),
    "hang": Behaviour("SILENCE", CLOSE, seconds=120),
    "slow": replace(LIVE, seconds=3),
    "other": FOREIGN,  # a device of the other project, see account.py
}
# Registered anew under another address once it has had a message: dead from then on.
MOVES_AWAY = "moving"
# Known by one kind of target only, as an installation is that changed from one to the other.
ONLY_AS = {"fidonly": "fid", "tokenonly": "token"}
REMEMBERED = 1 << 20


class Addresses:
    """The table, with a memory of which messages have had their first request."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._met = Table(REMEMBERED, "")

    def behaviour(
        self, address: str, message_id: str | None, *, kind: str, project: str
    ) -> Behaviour:
        word = address.partition("-")[0]
        if project != self._project:
            return self._elsewhere(word)
        behaviour = BEHAVIOURS.get(word, LIVE)
        if behaviour is LIVE:
            return self._live(address, word, kind)
        if behaviour.only_first and self._has_met((address, message_id)):
            return LIVE
        return behaviour

    def forget(self) -> None:
        self._met.forget()

    def _live(self, address: str, word: str, kind: str) -> Behaviour:
        if word == MOVES_AWAY and self._has_met(address):
            return DEAD
        return DEAD if ONLY_AS.get(word, kind) != kind else LIVE

    def _elsewhere(self, word: str) -> Behaviour:
        """The other project knows its own devices only; a malformed address is one to anybody."""
        if word == "other":
            return LIVE
        return BEHAVIOURS[word] if word == "malformed" else FOREIGN

    def _has_met(self, whom: str | tuple[str, str | None]) -> bool:
        return self._met.find(whom)[1] is not None
