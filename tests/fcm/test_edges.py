"""What a server can do wrong with one answer, and what each way to FCM makes of it: the same.

After each of them a second message goes through the same gateway, and gets the answer to itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from notifications.fcm import fcm
from notifications.fcm.transport import pool
from notifications.gateway import Arrived, Outcome, Push, Verdict
from tests.fcm.ways import BOTH, gateway_to, push, run, send
from tests.servers.identity import Authority
from tests.servers.rude import LONGEST, Heard, Rude, Talk, answer, chunked, sized

DEADLINE = 0.3
LARGE = "x" * 5_000_000
GONE = b"""{"error": {"code": 404, "message": "Requested entity was not found.", "details": [
    {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "UNREGISTERED"}
]}}"""
NO_TOKEN = b'{"error": {"code": 401, "message": "no", "status": "UNAUTHENTICATED"}}'
CHUNKED = b"Transfer-Encoding: chunked"
CLOSE = b"Connection: close"


class Fate(NamedTuple):
    """What became of the first message."""

    verdict: Verdict
    arrived: Arrived
    is_named: bool = False  # the message's name could be read


NAMED = Fate(Verdict.ACCEPTED, Arrived.YES, is_named=True)
NAMELESS = Fate(Verdict.ACCEPTED, Arrived.YES)
UNANSWERED = Fate(Verdict.UNANSWERED, Arrived.MAYBE)
DEAD = Fate(Verdict.DEAD_ADDRESS, Arrived.NO)
IN_DOUBT = Fate(Verdict.TRANSIENT, Arrived.MAYBE)
NO_INFORMATION = Fate(Verdict.TRANSIENT, Arrived.NO)


class Edge(NamedTuple):
    name: str
    misbehave: Callable[[Talk], object]
    fate: Fate
    title: str = "x"
    deadline: float = LONGEST


EDGES: list[Edge] = []


def edge(fate: Fate, **more: Any) -> Callable[[Callable[[Talk], object]], object]:
    def listed(misbehave: Callable[[Talk], object]) -> object:
        EDGES.append(Edge(misbehave.__name__, misbehave, fate, **more))
        return misbehave

    return listed


def says(name: str, fate: Fate, words: Callable[[Heard], bytes | tuple[bytes, ...]]) -> None:
    """A request is heard to its end, something is said, and then it is as the head said."""

    def misbehave(talk: Talk) -> None:
        heard = talk.hear()
        assert heard
        said = words(heard)
        for piece in (said,) if isinstance(said, bytes) else said:
            talk.say(piece)
            time.sleep(0.005)  # so that each comes by itself
        talk.goes_on = True

    EDGES.append(Edge(name, misbehave, fate))


def ends(name: str, fate: Fate, words: Callable[[Heard], bytes]) -> None:
    """The same, and then the connection ends."""

    def misbehave(talk: Talk) -> None:
        heard = talk.hear()
        assert heard
        talk.say(words(heard))

    EDGES.append(Edge(name, misbehave, fate))


# --- How a body is measured -----------------------------------------------------------------------

says("a length", NAMED, lambda heard: sized(heard.accepted))
says("chunked", NAMED, lambda heard: answer(chunked(heard.accepted), CHUNKED))
says(
    "chunked byte by byte",
    NAMED,
    lambda heard: answer(chunked(*(bytes([each]) for each in heard.accepted)), CHUNKED),
)
says(
    "chunked with a trailer",
    NAMED,
    lambda heard: answer(
        chunked(heard.accepted).removesuffix(b"\r\n") + b"Retry-After: 9\r\n\r\n", CHUNKED
    ),
)
says("both a length and chunked", UNANSWERED, lambda heard: sized(chunked(heard.accepted), CHUNKED))
ends("neither, to the connection's end", NAMED, lambda heard: answer(heard.accepted))
ends("neither, said to be the last", NAMED, lambda heard: answer(heard.accepted, CLOSE))
ends("neither, and refused", DEAD, lambda heard: answer(GONE, status=b"404 Not Found"))
says("a body of no bytes", NAMELESS, lambda heard: sized(b""))
says("204 and no body", IN_DOUBT, lambda heard: answer(status=b"204 No Content"))
says(
    "two lengths that differ",
    UNANSWERED,
    lambda heard: answer(heard.accepted, b"Content-Length: 5", b"Content-Length: 50"),
)
says(
    "a length that is no number",
    UNANSWERED,
    lambda heard: answer(heard.accepted, b"Content-Length: many"),
)

# --- Whether another request may follow -----------------------------------------------------------

ends("the last on this connection", NAMED, lambda heard: sized(heard.accepted, CLOSE))
says("said to be the last, and kept open", NAMED, lambda heard: sized(heard.accepted, CLOSE))
ends("HTTP/1.0", NAMED, lambda heard: sized(heard.accepted, version=b"1.0"))
ends("HTTP/1.0 without a length", NAMED, lambda heard: answer(heard.accepted, version=b"1.0"))
says(
    "HTTP/1.0 that goes on",
    NAMED,
    lambda heard: sized(heard.accepted, b"Connection: keep-alive", version=b"1.0"),
)
ends("closed without a word after it", NAMED, lambda heard: sized(heard.accepted))

# --- Before the answer ----------------------------------------------------------------------------

CONTINUE, HINTS = (
    b"HTTP/1.1 100 Continue\r\n\r\n",
    answer(b"", b"Link: </style.css>", b"Retry-After: 9", status=b"103 Early Hints"),
)
says("100 before it", NAMED, lambda heard: CONTINUE + sized(heard.accepted))
says(
    "100 and 103 before it, each by itself",
    NAMED,
    lambda heard: (CONTINUE, HINTS, sized(heard.accepted)),
)
ends("100 and nothing after it", UNANSWERED, lambda heard: CONTINUE)
says(
    "101: another language",
    IN_DOUBT,
    lambda heard: answer(
        b"", b"Upgrade: h2c", b"Connection: Upgrade", status=b"101 Switching Protocols"
    ),
)

# --- After the answer -----------------------------------------------------------------------------

OTHERS = sized(b'{"name": "projects/shop/messages/somebody-elses"}')
says("two answers at once", NAMED, lambda heard: sized(heard.accepted) + OTHERS)
says("a second answer to nobody", NAMED, lambda heard: (sized(heard.accepted), OTHERS))
says("an answer and half of another", NAMED, lambda heard: sized(heard.accepted) + OTHERS[:20])
says("an answer and something else", UNANSWERED, lambda heard: sized(heard.accepted) + b"\0\1\2")

# --- What ends too early --------------------------------------------------------------------------

ends("nothing at all", UNANSWERED, lambda heard: b"")
ends("half of a head", UNANSWERED, lambda heard: sized(heard.accepted)[:30])
ends("200 and half of a body", NAMELESS, lambda heard: sized(heard.accepted)[:-9])
ends(
    "200 and half of a chunk",
    NAMELESS,
    lambda heard: answer(chunked(heard.accepted)[:-19], CHUNKED),
)
ends("404 and half of a body", UNANSWERED, lambda heard: sized(GONE, status=b"404 Not Found")[:-9])
says("200 and a chunk that is none", UNANSWERED, lambda heard: answer(b"zz\r\n\r\n", CHUNKED))
says(
    "200, and then a chunk that is none",
    NAMELESS,
    lambda heard: (answer(b"", CHUNKED), b"zz\r\n\r\n"),
)

# --- What is too much -----------------------------------------------------------------------------

says(
    "a header of 70 kB",
    UNANSWERED,
    lambda heard: sized(heard.accepted, b"X-Long: " + b"x" * 70_000),
)
says(
    "a header without an end", UNANSWERED, lambda heard: b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000
)

# --- What the standard forbids, and some fronts write ---------------------------------------------

says("lines without a return", NAMED, lambda heard: sized(heard.accepted).replace(b"\r\n", b"\n"))
says("a header on two lines", NAMED, lambda heard: sized(heard.accepted, b"Via: 1.1 a,\r\n 1.1 b"))
says("a control character", NAMED, lambda heard: sized(heard.accepted, b"Server: \x01"))
says(
    "a space before the first header",
    NAMED,
    lambda heard: sized(heard.accepted).replace(b"\r\n", b"\r\n Via: 1.1 a\r\n", 1),
)
says(
    "spaces behind the size of a chunk",
    NAMED,
    lambda heard: answer(
        b"%x  \r\n%b\r\n0\r\n\r\n" % (len(heard.accepted), heard.accepted), CHUNKED
    ),
)
says("a NUL in a header", UNANSWERED, lambda heard: sized(heard.accepted, b"Server: a\0b"))
says("a space before a colon", UNANSWERED, lambda heard: sized(heard.accepted, b"Server : a"))
says(
    "two hundred headers",
    NAMED,
    lambda heard: sized(heard.accepted, *(b"X-%d: a" % number for number in range(200))),
)

# --- What is not FCM's ----------------------------------------------------------------------------

says(
    "a redirect",
    NO_INFORMATION,
    lambda heard: sized(b"", b"Location: https://127.0.0.1:9/elsewhere", status=b"302 Found"),
)
says("not HTTP", UNANSWERED, lambda heard: b"220 mail.example.com ESMTP\r\n")
says("HTTP/2 unasked", UNANSWERED, lambda heard: b"\0\0\x12\4\0\0\0\0\0" + b"\0" * 18)
says(
    "429 and for how long",
    Fate(Verdict.THROTTLED, Arrived.NO),
    lambda heard: sized(b"", b"Retry-After: 0", status=b"429 Too Many Requests"),
)
says(
    "408 to a request that was whole",
    IN_DOUBT,
    lambda heard: sized(b"", CLOSE, status=b"408 Request Timeout"),
)


@edge(UNANSWERED)
def closed_after_one_byte_of_ours(talk: Talk) -> None:
    talk.hear_bytes(1)


@edge(UNANSWERED)
def reset_after_the_request(talk: Talk) -> None:
    talk.hear()
    talk.reset()


@edge(UNANSWERED, title=LARGE)
def reset_in_the_middle_of_our_writing(talk: Talk) -> None:
    talk.hear_bytes(1_000)
    talk.reset()


@edge(UNANSWERED)
def half_closed(talk: Talk) -> None:
    talk.hear()
    talk.say_no_more()


@edge(NAMED, title=LARGE)
def read_slowly(talk: Talk) -> None:
    for _ in range(20):
        talk._come += talk.hear_bytes(500)
        time.sleep(0.005)
    heard = talk.hear()
    assert heard
    talk.say(sized(heard.accepted))


@edge(UNANSWERED, title=LARGE, deadline=DEADLINE)
def not_read(talk: Talk) -> None:
    talk.hear_bytes(1_000)
    time.sleep(3 * DEADLINE)


@edge(NAMELESS, title=LARGE)
def accepted_before_it_was_read(talk: Talk) -> None:
    talk._come = talk.hear_bytes(1_000)
    talk.say(sized(b"{}"))
    talk.hear()
    talk.goes_on = True


@edge(NAMELESS, title=LARGE)
def accepted_and_closed_before_it_was_read(talk: Talk) -> None:
    talk.hear_bytes(1_000)
    talk.say(sized(b"{}"))
    talk.say_no_more()


@edge(UNANSWERED, deadline=DEADLINE)
def answered_after_the_deadline(talk: Talk) -> None:
    heard = talk.hear()
    talk.wait_until_gone()
    assert heard
    with suppress(OSError):
        talk.say(sized(heard.accepted))


@edge(NAMELESS, deadline=DEADLINE)
def accepted_and_its_body_after_the_deadline(talk: Talk) -> None:
    heard = talk.hear()
    assert heard
    talk.say(sized(heard.accepted)[:-5])
    talk.wait_until_gone()


@edge(UNANSWERED)
def a_head_that_never_ends(talk: Talk) -> None:
    talk.hear()
    talk.say(b"HTTP/1.1 200 OK\r\n")
    for _ in range(5_000):
        talk.say(b"X-More: " + b"x" * 1_000 + b"\r\n")


def told(rude: Rude, authority: Authority, way: str, *turns: list[Push]) -> list[list[Outcome]]:
    """What each turn of messages came to, one turn after the other through one socket."""

    async def in_turn() -> list[list[Outcome]]:
        address = f"https://127.0.0.1:{rude.port}"
        gateway = gateway_to(address, way, ca_file=authority.ca_file)
        try:
            first = await send(gateway, turns[0])
            await asyncio.to_thread(rude.is_well.wait, LONGEST)
            await asyncio.sleep(0.02)  # what it said after its answer, or its end, is read
            return [first, *[await send(gateway, turn) for turn in turns[1:]]]
        finally:
            await gateway.close()

    return run(in_turn())


@BOTH
@pytest.mark.parametrize("edge", EDGES, ids=lambda each: each.name)
def test_an_answer_means_the_same_whichever_way_it_came(
    edge: Edge, way: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcm, "ANSWER_WITHIN", edge.deadline)
    monkeypatch.setattr(pool, "TICK", DEADLINE / 10)
    rude = Rude(authority.server("127.0.0.1"), edge.misbehave)
    try:
        (first,), (second,) = told(rude, authority, way, [push(1, title=edge.title)], [push(2)])
    finally:
        rude.stop()
    assert (first.verdict, first.arrived) == edge.fate[:2], first
    assert (first.message_id == "projects/shop/messages/phone1") is edge.fate.is_named
    assert second.message_id == "projects/shop/messages/phone2", second
    assert not rude.trouble
