"""Whatever a server does in whatever order: one outcome for each message, and each one true."""

from __future__ import annotations

import time
from collections import Counter
from threading import Lock
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notifications.fcm import fcm
from notifications.fcm.transport import pool
from notifications.gateway import Arrived, Outcome, Verdict
from tests.fcm.ways import BOTH, gateway_to, push, run, send
from tests.servers.identity import Authority
from tests.servers.rude import Heard, Rude, Talk, answer, chunked, sized

MESSAGES, SOCKETS = 12, 3
NO_TOKEN = b'{"error": {"code": 401, "message": "no", "status": "UNAUTHENTICATED"}}'
OTHERS = sized(b'{"name": "projects/shop/messages/somebody-elses"}')
# (what is said, whether the socket then ends, whether FCM took the message)
DOES: dict[str, tuple[Any, bool, bool | None]] = {
    "accepts": (lambda heard: sized(heard.accepted), False, True),
    "accepts in chunks": (
        lambda heard: answer(chunked(heard.accepted), b"Transfer-Encoding: chunked"), False, True,
    ),
    "accepts and closes": (
        lambda heard: sized(heard.accepted, b"Connection: close"), True, True,
    ),
    "accepts and closes without a word": (lambda heard: sized(heard.accepted), True, True),
    "accepts twice": (lambda heard: sized(heard.accepted) + OTHERS, False, True),
    "accepts and is cut": (lambda heard: sized(heard.accepted)[:-7], True, True),
    "refuses": (lambda heard: sized(b"", status=b"400 Bad Request"), False, False),
    "doubts the token": (lambda heard: sized(NO_TOKEN, status=b"401 Unauthorized"), False, False),
    "is unwell": (lambda heard: sized(b"", status=b"503 Service Unavailable"), False, None),
    "says nothing and closes": (lambda heard: b"", True, None),
    "says half a head": (lambda heard: sized(heard.accepted)[:25], True, None),
    "talks nonsense": (lambda heard: b"\0\1\2\3\r\n\r\n", False, None),
    "is silent": (None, False, None),
}  # fmt: skip


class Story:
    """What is done to each request as it comes, on whichever socket."""

    def __init__(self, does: list[str]) -> None:
        self._does, self._lock = iter(does), Lock()
        self.heard: list[tuple[str, str]] = []

    def play(self, talk: Talk) -> None:
        while heard := talk.hear():
            words, ends, _ = DOES[self._next(heard)]
            if words is None:
                return talk.wait_until_gone()
            talk.say(words(heard))
            if ends:
                return None
            time.sleep(0.001)
        return None

    def _next(self, heard: Heard) -> str:
        with self._lock:
            does = next(self._does, "accepts")
            self.heard.append((heard.name.rpartition("/")[2], does))
            return does


class Played(Rude):
    def __init__(self, authority: Authority, story: Story) -> None:
        self._story = story
        super().__init__(authority.server("127.0.0.1"))

    def _talk(self, talk: Talk) -> None:
        self._story.play(talk)


@BOTH
@given(does=st.lists(st.sampled_from(sorted(DOES)), max_size=2 * MESSAGES))
@settings(max_examples=20)
def test_each_message_has_one_outcome_and_it_is_what_the_server_did(
    does: list[str], way: str, authority: Authority
) -> None:
    story = Story(does)
    server = Played(authority, story)

    async def all_of_them() -> list[Outcome]:
        gateway = gateway_to(
            f"https://127.0.0.1:{server.port}",
            way,
            ca_file=authority.ca_file,
            connections=SOCKETS,
        )
        try:
            return await send(gateway, [push(number) for number in range(MESSAGES)])
        finally:
            await gateway.close()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fcm, "ANSWER_WITHIN", 1.0)
        patched.setattr(pool, "TICK", 0.03)
        outcomes = run(all_of_them())
    server.stop()

    assert not server.trouble
    assert Counter(each.reference for each in outcomes) == Counter(
        f"81:{number}" for number in range(MESSAGES)
    )
    for outcome in outcomes:
        _is_true(outcome, [did for name, did in story.heard if name == _name(outcome)])


def _name(outcome: Outcome) -> str:
    return f"phone{outcome.reference.partition(':')[2]}"


def _is_true(outcome: Outcome, did: list[str]) -> None:
    # Asked once more only after a word that this token will not do, which surely took nothing.
    assert all(each == "doubts the token" for each in did[:-1]), (outcome, did)
    assert len(did) <= 2
    if not did:
        assert outcome.verdict in (Verdict.UNSENT, Verdict.TRANSIENT, Verdict.UNANSWERED)
        return
    taken = DOES[did[-1]][2]
    if taken:
        assert (outcome.verdict, outcome.arrived) == (Verdict.ACCEPTED, Arrived.YES), did
        assert outcome.message_id.rpartition("/")[2] in ("", _name(outcome))
    elif taken is None:
        assert outcome.arrived is Arrived.MAYBE, (outcome, did)
    elif did[-1] != "doubts the token" or outcome.verdict is not Verdict.UNANSWERED:
        # (asked again over a socket that was just then closed, it may have arrived)
        assert outcome.arrived is Arrived.NO, (outcome, did)
