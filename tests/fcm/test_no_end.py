"""What would have no end if the gateway let it: a wait, a storm, a body, and sending itself."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from notifications.fcm import fcm
from notifications.fcm.fcm import FcmGateway
from notifications.fcm.transport import pool
from notifications.gateway import Arrived, Outcome, Permit, Verdict
from notifications.keys.minting import Minted
from tests.fcm.ways import BOTH, Mint, gateway_to, push, run, send
from tests.servers.identity import Authority
from tests.servers.rude import Misbehave, Rude, Talk, answer, sized

pytestmark = BOTH
NO_TOKEN = b'{"error": {"code": 401, "message": "no", "status": "UNAUTHENTICATED"}}'
NONE_LEFT = sized(b"", b"Retry-After: 60", status=b"429 Too Many Requests")
MEGABYTE = 1_000_000


class Odd(Mint):
    """The first token is good, if it is to be; all others are as said."""

    def __init__(self, then: Minted | Exception, *, first: bool = False) -> None:
        super().__init__()
        self._then, self._is_first, self.asked = then, first, 0

    def mint(self) -> Minted:
        self.asked += 1
        if self._is_first and self.asked == 1:
            return super().mint()
        if isinstance(self._then, Exception):
            raise self._then
        return self._then


class Slow(Rude):
    """All connections but the first wait for their welcome."""

    def _welcome(self, wire: Any) -> None:
        if self.connections > 1:
            time.sleep(0.4)
        super()._welcome(wire)


class Host(Rude):
    """Knows who is still there."""

    present = 0

    def _welcome(self, wire: Any) -> None:
        self.present += 1
        super()._welcome(wire)
        self.present -= 1


class Brief(Rude):
    """Hangs up on everybody at once."""

    def _welcome(self, wire: Any) -> None:
        wire.close()


class Parlour:
    """One server, and gateways to it."""

    def __init__(self, authority: Authority, way: str) -> None:
        self._authority, self._way = authority, way
        self._rude: Rude | None = None

    def serve(self, misbehave: Misbehave | None = None, kind: type[Rude] = Rude) -> Rude:
        self._rude = kind(self._authority.server("127.0.0.1"), misbehave)
        return self._rude

    def gateway(self, *, scheme: str = "https", host: str = "127.0.0.1", **more: Any) -> FcmGateway:
        assert self._rude
        address = f"{scheme}://{host}:{self._rude.port}"
        return gateway_to(address, self._way, ca_file=self._authority.ca_file, **more)

    def stop(self) -> None:
        assert self._rude
        self._rude.stop()
        assert not self._rude.trouble


@pytest.fixture
def parlour(authority: Authority, way: str) -> Iterator[Parlour]:
    parlour = Parlour(authority, way)
    yield parlour
    parlour.stop()


def doubt(seconds: float) -> Callable[[Talk], None]:
    """The first token, after a while."""

    def misbehave(talk: Talk) -> None:
        talk.hear()
        time.sleep(seconds)
        talk.say(sized(NO_TOKEN, status=b"401 Unauthorized"))
        talk.goes_on = True

    return misbehave


# --- Tokens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", [Minted("ended", 0.0), Minted("", 3_600.0)], ids=lambda t: t[0])
def test_a_token_that_cannot_be_used_is_none_and_is_not_asked_for_without_end(
    token: Minted, parlour: Parlour
) -> None:
    rude, minter = parlour.serve(), Odd(token)

    async def one() -> list[Outcome]:
        gateway = parlour.gateway(minter=minter)
        try:
            return await send(gateway, [push(1)])
        finally:
            await gateway.close()

    (outcome,) = run(one())

    assert (outcome.reason, outcome.arrived) == ("unreachable", Arrived.NO)
    assert minter.asked <= 2
    assert rude.heard == []


def test_a_mistake_of_ours_while_a_token_is_renewed_reaches_whoever_waits_for_it(
    parlour: Parlour,
) -> None:
    class DoubtsTheFirst(Rude):
        def _talk(self, talk: Talk) -> None:
            while heard := talk.hear():
                if heard.name.endswith("phone0"):
                    time.sleep(0.3)  # meanwhile nothing of its batch waits any more
                    talk.say(sized(NO_TOKEN, status=b"401 Unauthorized"))
                else:
                    talk.say(sized(heard.accepted))

    parlour.serve(kind=DoubtsTheFirst)
    minter = Odd(RuntimeError("can't start new thread"), first=True)

    async def some() -> None:
        gateway = parlour.gateway(connections=2, minter=minter)
        try:
            with pytest.raises(RuntimeError, match="new thread"):
                await send(gateway, [push(number) for number in range(4)])
        finally:
            await gateway.close()

    run(some())
    assert minter.asked <= 3


# --- Whom nobody waits for, and who is told to wait -----------------------------------------------


def test_nothing_is_asked_again_for_somebody_who_has_gone(parlour: Parlour) -> None:
    rude = parlour.serve(doubt(0.3))

    async def give_up() -> None:
        gateway = parlour.gateway()
        asked = asyncio.create_task(send(gateway, [push(1)]))
        await asyncio.sleep(0.15)
        asked.cancel()
        await asyncio.sleep(0.4)
        await gateway.close()

    run(give_up())
    assert rude.heard == []


def test_nothing_leaves_over_a_socket_that_was_opened_while_the_project_was_told_to_wait(
    parlour: Parlour,
) -> None:
    def refuse(talk: Talk) -> None:
        talk.hear()
        time.sleep(0.1)
        talk.say(NONE_LEFT)
        talk.wait_until_gone()

    rude = parlour.serve(refuse, Slow)

    async def two() -> list[Outcome]:
        gateway = parlour.gateway(connections=2)
        try:
            return await send(gateway, [push(1), push(2)])
        finally:
            await gateway.close()

    first, second = run(two())

    assert first.verdict is Verdict.THROTTLED
    assert second.verdict is Verdict.UNSENT
    assert second.retry_after is not None
    assert 50 < second.retry_after <= 60
    assert rude.heard == []


def test_calls_that_were_answered_leave_nothing_behind(parlour: Parlour) -> None:
    parlour.serve()

    async def many() -> int:
        gateway = parlour.gateway()
        ended = Permit(0)
        for number in range(50):
            await send(gateway, [push(number)], ended)
            await send(gateway, [])
        kept = len(gateway._batches)
        await gateway.close()
        return kept

    assert run(many()) == 0


# --- Sockets --------------------------------------------------------------------------------------


def test_an_idle_socket_whose_other_side_is_dead_is_soon_replaced(
    parlour: Parlour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcm, "IDLE_FOR", 0.2)
    monkeypatch.setattr(pool, "TICK", 0.05)

    def answer_and_die(talk: Talk) -> None:
        heard = talk.hear()
        assert heard
        talk.say(sized(heard.accepted))
        time.sleep(4)  # no farewell is answered

    rude = parlour.serve(answer_and_die)

    async def rest_meanwhile() -> float:
        gateway = parlour.gateway()
        await send(gateway, [push(1)])
        await asyncio.sleep(0.5)
        began = time.monotonic()
        await send(gateway, [push(2)])
        took = time.monotonic() - began
        await gateway.close()
        return took

    assert run(rest_meanwhile()) < 2
    assert rude.connections == 2


def test_a_server_that_hangs_up_on_every_new_socket_is_not_dialled_without_end(
    parlour: Parlour,
) -> None:
    rude = parlour.serve(kind=Brief)

    async def be_busy() -> None:
        """So that a socket has ended before we look at it."""
        while True:
            time.sleep(0.003)
            await asyncio.sleep(0)

    async def some() -> list[Outcome]:
        gateway = parlour.gateway(scheme="http", connections=10)
        busy = asyncio.create_task(be_busy())
        try:
            return await send(gateway, [push(number) for number in range(100)])
        finally:
            busy.cancel()
            await gateway.close()

    outcomes = run(some())

    assert len(outcomes) == 100
    assert rude.connections <= 100 + 10


def test_a_gateway_that_is_closed_while_it_dials_keeps_no_socket(parlour: Parlour) -> None:
    """At whichever moment of it."""
    host = parlour.serve(kind=Host)
    assert isinstance(host, Host)

    async def close_soon() -> None:
        kept = []
        for moment in range(60):
            gateway = parlour.gateway(scheme="https", connections=5)
            asked = asyncio.create_task(send(gateway, [push(number) for number in range(5)]))
            for _ in range(moment // 4):
                await asyncio.sleep(0.0003 * (moment % 4))
            await gateway.close()
            await asked
            kept.append(gateway)  # else the garbage collector would close what is left
        await asyncio.sleep(0.3)
        assert host.present == 0

    run(close_soon())


class NeverNamed(asyncio.SelectorEventLoop):
    """A loop in which no name is ever resolved."""

    async def getaddrinfo(self, host: Any, port: Any, **more: Any) -> Any:
        await asyncio.sleep(60)


def test_a_gateway_that_is_closed_while_a_name_is_looked_up_leaves_nobody_waiting(
    parlour: Parlour,
) -> None:
    rude = parlour.serve()

    async def close_meanwhile() -> list[Outcome]:
        gateway = parlour.gateway(host="shop.test", connections=2)
        asked = asyncio.create_task(send(gateway, [push(number) for number in range(3)]))
        await asyncio.sleep(0.1)
        await gateway.close()
        async with asyncio.timeout(2):
            return await asked

    outcomes = run(close_meanwhile(), NeverNamed)

    assert [outcome.verdict for outcome in outcomes] == [Verdict.UNSENT] * 3
    assert rude.heard == []


# --- Answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [b"2\r\n{}\r\n0\r\nX-More: ", b"2;more=", b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 20_000]
)
def test_what_stands_around_a_body_has_an_end(words: bytes, parlour: Parlour) -> None:
    def pour(talk: Talk) -> None:
        talk.hear()
        talk.say(answer(b"", b"Transfer-Encoding: chunked"))
        time.sleep(0.05)
        talk.say(words)
        for _ in range(300):
            talk.say(b"x" * 65_536)

    parlour.serve(pour)

    async def one() -> list[Outcome]:
        gateway = parlour.gateway()
        try:
            return await send(gateway, [push(1)])
        finally:
            await gateway.close()

    tracemalloc.start()
    try:
        (outcome,) = run(one())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (outcome.verdict, outcome.arrived) == (Verdict.ACCEPTED, Arrived.YES)
    assert most < 8 * MEGABYTE
