"""What becomes of a message for an address. The address says so itself, up to its first "-".

So a test or a demo picks its answers by the tokens it registers, and nothing has to be scripted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from emulator import answers
from emulator.answers import Answer
from emulator.exchange import ANSWER, CLOSE, RESET, Ending


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The end of one request: how, whether the message was accepted, and the name of it."""

    name: str
    ending: Ending = ANSWER
    accepts: bool = False
    answer: Answer | None = None
    only_first: bool = False
    seconds: float | None = None  # None: after the latency everything has


def refuses(answer: Answer) -> Behaviour:
    return Behaviour(answer.name, answer=answer)


def at_first(behaviour: Behaviour) -> Behaviour:
    """Only the first request of a message meets this; a second attempt finds a live device."""
    return replace(behaviour, only_first=True)


LIVE = Behaviour("ACCEPTED", accepts=True)

BEHAVIOURS = {
    "dead": refuses(answers.UNREGISTERED),
    "malformed": refuses(answers.MALFORMED),
    "foreign": refuses(answers.SENDER_ID_MISMATCH),
    "thirdparty": refuses(answers.THIRD_PARTY_AUTH_ERROR),
    "flaky": at_first(refuses(answers.UNAVAILABLE)),
    "throttled": at_first(refuses(answers.QUOTA_EXCEEDED)),
    "broken": at_first(refuses(answers.INTERNAL)),
    "lost": at_first(Behaviour("LOST", CLOSE, accepts=True)),
    "reset": at_first(Behaviour("RESET", RESET)),
    "hang": Behaviour("SILENCE", CLOSE, seconds=120),
    "slow": replace(LIVE, seconds=3),
}


class Addresses:
    """The table, with a memory of which messages have had their first request."""

    def __init__(self) -> None:
        self._met: set[tuple[str, str | None]] = set()

    def behaviour(self, address: str, message_id: str | None) -> Behaviour:
        behaviour = BEHAVIOURS.get(address.partition("-")[0], LIVE)
        if not behaviour.only_first:
            return behaviour
        message = (address, message_id)
        if message in self._met:
            return LIVE
        self._met.add(message)
        return behaviour

    def forget(self) -> None:
        self._met.clear()
