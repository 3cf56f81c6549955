"""Sockets that end, fill up, or stand elsewhere: what leaves over them, and what never does."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from notifications.fcm import fcm
from notifications.fcm.transport import pool
from notifications.gateway import Arrived, Outcome, Permit, Push, Verdict
from tests.fcm.ways import BOTH, gateway_to, push, run, send
from tests.given.waiting import eventually
from tests.servers.identity import Authority
from tests.servers.rude import Misbehave, Rude, Talk, sized

pytestmark = BOTH
TEN_MEGABYTES = 10_000_000


class Server:
    """Rude servers of one test, and gateways to them."""

    def __init__(self, authority: Authority, way: str) -> None:
        self._authority, self._way = authority, way
        self._made: list[Rude] = []

    def new(
        self, misbehave: Misbehave | None = None, tls: ssl.SSLContext | None = None, **where: Any
    ) -> Rude:
        names = where.get("host", "127.0.0.1"), "shop.test"
        rude = Rude(tls or self._authority.server(*names), misbehave, **where)
        self._made.append(rude)
        return rude

    def gateway(self, rude: Rude, *, host: str = "127.0.0.1", connections: int = 1) -> Any:
        return gateway_to(
            f"https://{host}:{rude.port}",
            self._way,
            ca_file=self._authority.ca_file,
            connections=connections,
        )

    def send(self, rude: Rude, *messages: Push, **more: Any) -> list[Outcome]:
        async def all_of_them() -> list[Outcome]:
            gateway = self.gateway(rude, **more)
            try:
                return await send(gateway, messages)
            finally:
                await gateway.close()

        return run(all_of_them())

    def stop(self) -> None:
        for rude in self._made:
            rude.stop()
        assert not [trouble for rude in self._made for trouble in rude.trouble]


@pytest.fixture
def server(authority: Authority, way: str) -> Iterator[Server]:
    server = Server(authority, way)
    yield server
    server.stop()


def names(outcomes: list[Outcome]) -> list[str]:
    return [outcome.message_id.rpartition("/")[2] for outcome in outcomes]


# --- Sockets that end -----------------------------------------------------------------------------


def test_a_socket_that_ended_while_idle_is_replaced_before_anything_is_written(
    server: Server,
) -> None:
    rude = server.new()

    async def twice() -> list[Outcome]:
        gateway = server.gateway(rude)
        try:
            first = await send(gateway, [push(1)])
            rude.hang_up()
            await asyncio.sleep(0.05)
            return [*first, *await send(gateway, [push(2)])]
        finally:
            await gateway.close()

    assert names(run(twice())) == ["phone1", "phone2"]
    assert (rude.connections, len(rude.heard)) == (2, 2)


def test_a_socket_nobody_needed_for_a_while_is_closed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcm, "IDLE_FOR", 0.1)
    monkeypatch.setattr(pool, "TICK", 0.05)
    rude, gone = server.new(), []

    def until_gone(talk: Talk) -> None:
        heard = talk.hear()
        assert heard
        talk.say(sized(heard.accepted))
        talk.wait_until_gone()
        gone.append(time.monotonic())

    rude = server.new(until_gone)

    async def send_and_rest() -> None:
        gateway = server.gateway(rude)
        await send(gateway, [push(1)])
        await asyncio.sleep(0.5)
        await send(gateway, [push(2)])  # aiohttp looks when it is asked the next time
        assert gone
        await gateway.close()

    run(send_and_rest())


def test_few_messages_after_many_open_no_socket_and_keep_to_the_one_used_last(
    server: Server, way: str
) -> None:
    def wait_for_the_others(talk: Talk) -> None:
        heard = talk.hear()
        assert heard
        eventually("all of them stand", lambda: len(rude.open) == 5)
        talk.say(sized(heard.accepted))
        talk.goes_on = True

    rude = server.new(wait_for_the_others)

    async def many_and_then_few() -> None:
        gateway = server.gateway(rude, connections=5)
        await send(gateway, [push(number) for number in range(20)])
        for number in range(20, 30):
            await send(gateway, [push(number)])
        await gateway.close()

    run(many_and_then_few())

    assert rude.connections == 5
    if way == "wire":  # aiohttp takes them in turn
        assert len({heard.over for heard in rude.heard[-10:]}) == 1


# --- What an answer looks like on the way ---------------------------------------------------------


def test_an_answer_may_come_in_any_two_pieces(server: Server) -> None:
    def in_two_pieces(talk: Talk) -> None:
        whole, number = sized(b'{"name": "projects/shop/messages/x"}'), 1
        while number < len(whole):
            assert talk.hear()
            talk.say(whole[:number])
            time.sleep(0.001)
            talk.say(whole[number:])
            number += 1
        talk.goes_on = True

    many = len(sized(b'{"name": "projects/shop/messages/x"}')) - 1

    outcomes = server.send(server.new(in_two_pieces), *map(push, range(many)))

    assert names(outcomes) == ["x"] * many


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(b"200 OK", Verdict.ACCEPTED), (b"404 Not Found", Verdict.UNANSWERED)],
)
def test_an_answer_of_ten_megabytes_is_not_taken_in(
    server: Server, status: bytes, verdict: Verdict
) -> None:
    piece = b"x" * 65_536

    def pour(talk: Talk) -> None:
        talk.hear()
        talk.say(sized(b"", status=status).replace(b"Length: 0", b"Length: %d" % TEN_MEGABYTES))
        for _ in range(TEN_MEGABYTES // len(piece) + 1):
            talk.say(piece)

    rude = server.new(pour)
    tracemalloc.start()
    try:
        (outcome,) = server.send(rude, push(1))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert outcome.verdict is verdict
    assert most < TEN_MEGABYTES / 3


# --- Tokens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refusals", "verdict", "asked"),
    [(1, Verdict.ACCEPTED, ["1", "2"]), (2, Verdict.UNAUTHORISED, ["1", "2"])],
)
def test_a_401_is_asked_once_more_with_a_fresh_token(
    server: Server, refusals: int, verdict: Verdict, asked: list[str]
) -> None:
    tokens = []

    def refuse(talk: Talk) -> None:
        no = b'{"error": {"code": 401, "message": "no", "status": "UNAUTHENTICATED"}}'
        for turn in range(2):
            heard = talk.hear()
            assert heard
            tokens.append(heard.words["authorization"].rpartition("-")[2])
            talk.say(
                sized(no, status=b"401 Unauthorized") if turn < refusals else sized(heard.accepted)
            )

    (outcome,) = server.send(server.new(refuse), push(1))

    assert outcome.verdict is verdict
    assert tokens == asked


# --- Permits and pauses ---------------------------------------------------------------------------


def test_what_waits_for_a_busy_socket_is_given_back_when_the_permit_is_withdrawn(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "TICK", 0.05)
    permit = Permit(60)

    def take_long(talk: Talk) -> None:
        heard = talk.hear()
        assert heard
        permit.withdraw()
        time.sleep(0.4)
        talk.say(sized(heard.accepted))
        talk.goes_on = True

    rude = server.new(take_long)

    async def all_of_them() -> list[Outcome]:
        gateway = server.gateway(rude)
        try:
            return await send(gateway, [push(number) for number in range(9)], permit)
        finally:
            await gateway.close()

    outcomes = run(all_of_them())

    assert sorted(outcome.verdict for outcome in outcomes) == [
        Verdict.ACCEPTED, *[Verdict.UNSENT] * 8
    ]  # fmt: skip
    assert rude.heard == []


def test_whoever_stops_waiting_has_nothing_more_sent(server: Server) -> None:
    def take_long(talk: Talk) -> None:
        heard = talk.hear()
        assert heard
        time.sleep(0.3)
        talk.say(sized(heard.accepted))
        talk.goes_on = True

    rude = server.new(take_long)

    async def give_up_and_ask_for_another() -> list[Outcome]:
        gateway = server.gateway(rude)
        first = asyncio.create_task(send(gateway, [push(number) for number in range(9)]))
        await asyncio.sleep(0.15)
        first.cancel()
        try:
            return await send(gateway, [push(9)])
        finally:
            await gateway.close()

    assert names(run(give_up_and_ask_for_another())) == ["phone9"]
    assert [heard.name for heard in rude.heard] == ["projects/shop/messages/phone9"]


def test_a_gateway_that_is_closed_leaves_nobody_waiting(server: Server) -> None:
    def hear_and_be_silent(talk: Talk) -> None:
        talk.hear()
        talk.wait_until_gone()

    rude = server.new(hear_and_be_silent)

    async def close_meanwhile() -> list[Outcome]:
        gateway = server.gateway(rude)
        asked = asyncio.create_task(send(gateway, [push(1), push(2)]))
        await asyncio.sleep(0.2)
        await gateway.close()
        return await asked

    first, second = sorted(run(close_meanwhile()), key=lambda each: each.reference)

    assert first.arrived is Arrived.MAYBE
    assert second.arrived is Arrived.NO
    assert rude.heard == []


# --- Who the other side is ------------------------------------------------------------------------


def _old_tls(authority: Authority) -> ssl.SSLContext:
    context = authority.server("127.0.0.1")
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize(
    "identity",
    [
        lambda authority: authority.server("10.9.8.7"),
        lambda authority: authority.server("127.0.0.1", ended=True),
        lambda authority: authority.server("127.0.0.1", by_itself=True),
        _old_tls,
    ],
    ids=["another name", "ended yesterday", "signed by itself", "TLS 1.1"],
)
def test_nothing_leaves_for_a_server_that_is_not_surely_the_one(
    server: Server, authority: Authority, identity: Callable[[Authority], ssl.SSLContext]
) -> None:
    rude = server.new(tls=identity(authority))

    (outcome,) = server.send(rude, push(1))

    assert (outcome.verdict, outcome.reason) == (Verdict.TRANSIENT, "unreachable")
    assert outcome.arrived is Arrived.NO
    assert rude.heard == []


def test_an_address_of_the_sixth_version_is_an_address(server: Server) -> None:
    rude = server.new(host="::1")
    assert names(server.send(rude, push(1), host="[::1]")) == ["phone1"]


# --- Names with several addresses -----------------------------------------------------------------


class Names(asyncio.SelectorEventLoop):
    """A loop in which shop.test has these addresses."""

    addresses: tuple[str, ...] = ()

    async def getaddrinfo(self, host: Any, port: Any, **more: Any) -> Any:
        found: list[Any] = []
        for one in self.addresses if host == "shop.test" else (host,):
            found += await super().getaddrinfo(one, port, **more)
        return found


def test_of_several_addresses_one_that_answers_is_enough(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcm, "ADDRESS_WITHIN", 0.3)
    rude = server.new()
    silent = server.new(host="127.0.0.3", port=rude.port)
    silent._tls, silent._misbehave = None, lambda talk: talk.wait_until_gone()
    monkeypatch.setattr(Names, "addresses", ("127.0.0.2", "127.0.0.3", "127.0.0.1"))

    async def all_of_them() -> list[Outcome]:
        gateway = server.gateway(rude, host="shop.test", connections=3)
        try:
            return await send(gateway, [push(number) for number in range(30)])
        finally:
            await gateway.close()

    assert sorted(names(run(all_of_them(), Names))) == sorted(f"phone{n}" for n in range(30))


@pytest.mark.parametrize(
    "addresses", [("127.0.0.2", "127.0.0.1"), ("127.0.0.1", "127.0.0.2")], ids="".join
)
def test_an_address_that_swallows_everything_holds_nobody_up(
    addresses: tuple[str, ...], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Often it is the host's IPv6 address. Each socket would wait for its time to be over."""
    monkeypatch.setattr(fcm, "ADDRESS_WITHIN", 60.0)
    monkeypatch.setattr(fcm, "CONNECT_WITHIN", 60.0)
    rude = server.new()
    monkeypatch.setattr(Names, "addresses", addresses)
    with black_hole("127.0.0.2", rude.port):

        async def in_turn() -> list[Outcome]:
            gateway = server.gateway(rude, host="shop.test")
            try:
                return await send(gateway, [push(number) for number in range(3)])
            finally:
                await gateway.close()

        assert names(run(in_turn(), Names)) == ["phone0", "phone1", "phone2"]


@contextmanager
def black_hole(host: str, port: int) -> Iterator[None]:
    """An address that answers no new connection: its queue is full, so Linux drops what comes."""
    with ExitStack() as open_sockets:
        listener = open_sockets.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(0)
        for _ in range(3):
            waiting = open_sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((host, port))
        yield


def test_a_name_that_moved_is_followed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcm, "NAMED_FOR", 0.1)
    old = server.new()
    new = server.new(host="127.0.0.2", port=old.port)
    monkeypatch.setattr(Names, "addresses", ("127.0.0.1",))

    async def before_and_after() -> list[Outcome]:
        gateway = server.gateway(old, host="shop.test")
        try:
            first = await send(gateway, [push(1)])
            monkeypatch.setattr(Names, "addresses", ("127.0.0.2",))
            old.stop()
            await asyncio.sleep(0.2)
            return [*first, *await send(gateway, [push(2)])]
        finally:
            await gateway.close()

    assert names(run(before_and_after(), Names)) == ["phone1", "phone2"]
    assert [heard.name[-1] for heard in new.heard] == ["2"]
