"""What FCM does with one send request: admit the caller, judge the message, ask the address.

A message is accepted, and witnessed, when its request has been read; the latency is all in the
answer. So a sender that dies while it waits has sent, as it would have with the real FCM.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.doors.oauth import TokenDesk
from emulator.faults.addresses import LIVE, Addresses, Behaviour
from emulator.faults.faults import SEND, Faults
from emulator.google import messages
from emulator.google.envelopes import Answer, Refused
from emulator.google.messages import Message
from emulator.http.exchange import PIECE_BYTES, TRICKLE, Reaction, Request
from emulator.http.replies import NO_HEADERS, reply
from emulator.service.latency import Latency
from emulator.service.quotas import DeviceQuotas, ProjectQuota
from emulator.settings import Settings
from emulator.witness.counts import Counts
from emulator.witness.ledger import Ledger


@dataclass
class Fcm:
    desk: TokenDesk
    addresses: Addresses
    faults: Faults
    project_quota: ProjectQuota
    device_quotas: DeviceQuotas
    ledger: Ledger
    counts: Counts
    settings: Settings
    latency: Latency
    process: int = 0
    processes: int = 1
    _sequence: int = 0

    def send(self, request: Request, *, project: str, now: float) -> Reaction:
        self.counts.requests += 1
        try:
            self.desk.admit(request.authorization, project=project, now=now)
            if self.settings.quota_per_minute is not None:
                self.project_quota.take(project, now=now)
        except Refused as refused:
            return self._refuse(refused.answer, now=now)
        try:
            message = messages.read(request.body)
            behaviour = self._behaviour(message, project=project, now=now)
        except Refused as refused:
            return self._refuse(refused.answer, now=now, metered=project)
        name = f"projects/{project}/messages/fake_message_id"
        if behaviour.accepts and message.only_validate:
            self.counts.validated += 1
        elif behaviour.accepts:
            name = self._accept(message, request, project=project, now=now)
        if behaviour.answer:
            return self._refuse(behaviour.answer, now=now, metered=project, behaviour=behaviour)
        self.counts.answers[_name_of(behaviour, message)] += 1
        return self.react(behaviour, _accepted(name, now=now))

    def _behaviour(self, message: Message, *, project: str, now: float) -> Behaviour:
        if self.faults.scripted:
            scripted = self.faults.meet(SEND, message.address, message.id, now=now)
            if scripted:
                return scripted
        if not message.is_for_a_device:
            return LIVE
        behaviour = self.addresses.behaviour(
            message.address, message.id, kind=message.kind, project=project
        )
        if behaviour.accepts and self.settings.device_quotas:
            self.device_quotas.take(message.address, message.document, now=now)
        return behaviour

    def _refuse(
        self, answer: Answer, *, now: float, metered: str = "", behaviour: Behaviour = LIVE
    ) -> Reaction:
        """The answer is a refusal. `metered` names the project whose quota has counted it."""
        if metered and answer.status == 429 and self.settings.quota_per_minute is not None:
            self.project_quota.give_back(metered)
        self.counts.answers[answer.name] += 1
        return self.react(behaviour, answer.reply.dated(now))

    def react(self, behaviour: Behaviour, payload: bytes) -> Reaction:
        if behaviour.ending is TRICKLE:
            pause = (behaviour.seconds or 0) * PIECE_BYTES / len(payload)
            return Reaction(payload, self.latency.seconds(), TRICKLE, pause)
        delay = self.latency.seconds() if behaviour.seconds is None else behaviour.seconds
        return Reaction(payload, delay, behaviour.ending)

    def _accept(self, message: Message, request: Request, *, project: str, now: float) -> str:
        """Witness the message; the name FCM gives it."""
        self.counts.accepted += 1
        self._sequence += 1
        number = self._sequence * self.processes + self.process
        name = f"projects/{project}/messages/0:{now * 1e6:.0f}%{number:016x}"
        self.ledger.add(message, project=project, name=name, connection=request.connection, at=now)
        return name


def _name_of(behaviour: Behaviour, message: Message) -> str:
    if message.only_validate and behaviour.name == LIVE.name:
        return "VALIDATED"
    return behaviour.name


def _accepted(name: str, *, now: float) -> bytes:
    body = f'{{\n  "name": "{name}"\n}}\n'.encode()
    return reply(200, "application/json; charset=UTF-8", body, NO_HEADERS).dated(now)
