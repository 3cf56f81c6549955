"""What FCM does with one send request: admit the caller, judge the message, ask the address.

A message is accepted, and witnessed, when its request has been read; the latency is all in the
answer. So a sender that dies while it waits has sent, as it would have with the real FCM.
"""

from __future__ import annotations

from emulator import messages
from emulator.addresses import LIVE, Addresses, Behaviour
from emulator.answers import Answer, Refused
from emulator.counts import Counts
from emulator.exchange import Reaction, Request
from emulator.messages import Message
from emulator.oauth import TokenDesk
from emulator.replies import NO_HEADERS, reply
from emulator.settings import Settings
from emulator.witness import Witness


class Fcm:
    def __init__(
        self,
        *,
        desk: TokenDesk,
        addresses: Addresses,
        witness: Witness,
        counts: Counts,
        settings: Settings,
    ) -> None:
        self._desk = desk
        self._addresses = addresses
        self._witness = witness
        self._counts = counts
        self._settings = settings
        self._sequence = 0

    def send(self, request: Request, *, project: str, now: float) -> Reaction:
        self._counts.requests += 1
        try:
            self._desk.admit(request.authorization, project=project, now=now)
            message = messages.read(request.body)
        except Refused as refused:
            return self._refuse(refused.answer, now=now, delay=self._latency)
        behaviour = LIVE
        if message.is_for_a_device:
            behaviour = self._addresses.behaviour(message.address, message.id)
        delay = self._latency if behaviour.seconds is None else behaviour.seconds
        if behaviour.answer:
            return self._refuse(behaviour.answer, now=now, delay=delay)
        name = f"projects/{project}/messages/fake_message_id"
        if behaviour.accepts and not message.only_validate:
            name = self._accept(message, request, project=project, now=now)
        self._counts.answers[_name_of(behaviour, message)] += 1
        return Reaction(_accepted(name, now=now), delay, behaviour.ending)

    @property
    def _latency(self) -> float:
        return self._settings.latency_ms / 1000

    def _refuse(self, answer: Answer, *, now: float, delay: float) -> Reaction:
        self._counts.answers[answer.name] += 1
        return Reaction(answer.reply.dated(now), delay)

    def _accept(self, message: Message, request: Request, *, project: str, now: float) -> str:
        """Witness the message; the name FCM gives it."""
        self._counts.accepted += 1
        self._sequence += 1
        name = f"projects/{project}/messages/0:{now * 1e6:.0f}%{self._sequence:016x}"
        self._witness.add(
            message, project=project, name=name, connection=request.connection, at=now
        )
        return name


def _name_of(behaviour: Behaviour, message: Message) -> str:
    if behaviour is LIVE and message.only_validate:
        return "VALIDATED"
    return behaviour.name


def _accepted(name: str, *, now: float) -> bytes:
    body = f'{{\n  "name": "{name}"\n}}\n'.encode()
    return reply(200, "application/json; charset=UTF-8", body, NO_HEADERS).dated(now)
