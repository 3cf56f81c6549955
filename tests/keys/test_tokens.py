"""One OAuth token for all processes: who mints it, who shares it, and who stops nobody."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from time_machine import travel

from notifications.gateway import BadCredentials
from notifications.keys.minting import AccountKey, TokenUnavailable
from notifications.keys.tokens import MAX_REJECTIONS, AccessTokens
from tests.given.forgetting import flush_ours
from tests.given.private_key import another_private_key
from tests.servers.fcm import Fcm
from tests.servers.relay import Relay
from tests.servers.sender import Sender

Start = Callable[..., Sender]


@pytest.fixture
def start(fcm: Fcm) -> Iterator[Start]:
    senders: list[Sender] = []

    def started(**changes: Any) -> Sender:
        senders.append(Sender(fcm, **changes))
        return senders[-1]

    yield started
    for sender in senders:
        sender.stop()


@pytest.fixture
def relay(fcm: Fcm) -> Iterator[Relay]:
    """The way to the token endpoint, for those that are given its token_uri."""
    relay = Relay(urlsplit(fcm.url).port or 0)
    yield relay
    relay.stop()


def through(relay: Relay) -> str:
    return f"https://127.0.0.1:{relay.port}/token"


def ask_all(senders: list[Sender], order: str) -> list[Any]:
    """At once: every one of them is told before any of them is heard."""
    for sender in senders:
        sender.tell(order)
    return [sender.hear() for sender in senders]


def tokens_of(fcm: Fcm, **changes: Any) -> AccessTokens:
    return AccessTokens(AccountKey({**fcm.service_account, **changes}, ca_file=str(fcm.ca_file)))


# --- Shared -----------------------------------------------------------------------------------


def test_processes_that_start_together_mint_once_and_one_that_starts_later_not_at_all(
    fcm: Fcm, start: Start
) -> None:
    [token] = set(ask_all([start() for _ in range(3)], "token"))

    assert token.startswith("ya29.")
    assert start().ask("token") == token
    assert fcm.counts()["token_requests"] == 1


def test_500_refused_requests_in_four_processes_cost_one_refresh_and_no_message(
    fcm: Fcm, start: Start
) -> None:
    senders = [start() for _ in range(4)]
    ask_all(senders, "token")
    fcm.revoke()

    assert ask_all(senders, "send 125") == [{"accepted": 125}] * 4
    counts = fcm.counts()
    assert counts["token_requests"] == 2
    assert counts["by_answer"]["ACCESS_TOKEN_EXPIRED"] > 4  # they were in flight together


def test_a_token_that_ends_while_two_processes_send_is_replaced_before_anybody_notices(
    fcm: Fcm, start: Start
) -> None:
    fcm.change(token_seconds=3)
    try:
        senders = [start(), start()]
        sent = ask_all(senders, "until_new")
    finally:
        fcm.change(token_seconds=3600)

    assert [list(each) for each in sent] == [["accepted"]] * 2
    counts = fcm.counts()
    assert list(counts["by_answer"]) == ["ACCEPTED"]
    assert counts["token_requests"] == 2


def test_a_flushed_redis_costs_at_most_the_refresh_that_was_due(fcm: Fcm, start: Start) -> None:
    first, second = start(), start()
    ask_all([first, second], "token")
    flush_ours()
    fcm.revoke()

    assert ask_all([first, second], "send 20") == [{"accepted": 20}] * 2
    assert fcm.counts()["token_requests"] == 2


# --- Without Redis ----------------------------------------------------------------------------


def nowhere() -> dict[str, str]:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    return {"REDIS_URL": f"redis://127.0.0.1:{port}/0"}


def test_without_redis_every_process_mints_its_own_and_sends(fcm: Fcm, start: Start) -> None:
    senders = [start(environment=nowhere()) for _ in range(2)]

    assert ask_all(senders, "send 20") == [{"accepted": 20}] * 2
    assert fcm.counts()["token_requests"] == 2


def test_redis_may_go_and_come_back_while_a_process_sends(fcm: Fcm, start: Start) -> None:
    url = urlsplit(os.environ["REDIS_URL"])
    relay = Relay(url.port or 6379)
    away = url._replace(netloc=url.netloc.replace(str(url.port), str(relay.port))).geturl()
    near, far = start(), start(environment={"REDIS_URL": away})
    try:
        assert far.ask("token") == near.ask("token")
        relay.hang_up()
        fcm.revoke()
        assert far.ask("send 20") == {"accepted": 20}
        assert near.ask("token") != far.ask("token")

        relay.mode = "pass"
        fcm.revoke()
        assert ask_all([far, near], "send 20") == [{"accepted": 20}] * 2
        assert near.ask("token") == far.ask("token")
    finally:
        relay.stop()


# --- What goes wrong on the way ------------------------------------------------------------------


def test_a_process_killed_while_it_mints_holds_nobody_up_for_long(
    fcm: Fcm, start: Start, relay: Relay
) -> None:
    relay.mode = "hold"
    killed, other = [start(lock_seconds=1.5, token_uri=through(relay)) for _ in range(2)]
    killed.tell("token")
    assert relay.came.wait(10)
    killed.process.kill()
    relay.mode = "pass"

    assert other.ask("token").startswith("ya29.")
    assert (relay.connections, fcm.counts()["token_requests"]) == (2, 1)


def test_a_token_endpoint_that_hangs_up_is_asked_by_one_process_for_all(
    start: Start, relay: Relay
) -> None:
    relay.mode = "close"
    senders = [start(token_uri=through(relay)) for _ in range(3)]

    for said in ask_all(senders, "token"):
        assert said.startswith("TokenUnavailable")
    assert relay.connections == 1
    assert ask_all(senders, "send 20") == [{"transient": 20}] * 3


def test_a_key_google_refuses_is_tried_by_one_process_and_refused_to_all(
    fcm: Fcm, start: Start
) -> None:
    key = another_private_key()
    senders = [start(private_key=key) for _ in range(3)]

    for said in ask_all(senders, "token"):
        assert said.startswith("BadCredentials: Google refused the key (invalid_grant)")
        assert "This machine's clock is right" in said
        assert "PRIVATE" not in said
    assert fcm.counts()["token_requests"] == 1


@pytest.mark.parametrize(
    ("shift", "words"), [(7_300, "2 hours ahead of"), (-7_300, "2 hours behind")]
)
def test_a_wrong_clock_is_told_from_a_wrong_key(fcm: Fcm, shift: int, words: str) -> None:
    import time

    with (
        travel(time.time() + shift),
        pytest.raises(BadCredentials, match=f"this machine's clock is {words} Google's"),
    ):
        AccountKey(fcm.service_account, ca_file=str(fcm.ca_file)).mint()


def test_a_web_page_instead_of_a_token_is_a_trouble_that_may_pass(fcm: Fcm) -> None:
    key = AccountKey(
        {**fcm.service_account, "token_uri": f"{fcm.url}/health"}, ca_file=str(fcm.ca_file)
    )
    with pytest.raises((TokenUnavailable, BadCredentials)):
        key.mint()


def test_tokens_refused_again_and_again_are_not_minted_for_ever(fcm: Fcm) -> None:
    tokens = tokens_of(fcm)

    async def refused() -> None:
        for _ in range(MAX_REJECTIONS * 3):
            tokens.reject(await tokens.current())

    asyncio.run(refused())
    assert fcm.counts()["token_requests"] == MAX_REJECTIONS + 1


# --- Sealed -----------------------------------------------------------------------------------


def test_a_process_with_the_sealing_key_behind_a_new_one_still_opens_the_token(
    fcm: Fcm, start: Start, settings: LazySettings
) -> None:
    token = start().ask("token")
    rotated = {"CREDENTIALS_KEY": f"brand new, {settings.CREDENTIALS_KEY}"}
    stranger = {"CREDENTIALS_KEY": "brand new"}

    assert start(environment=rotated).ask("token") == token
    assert start(environment=stranger).ask("token") != token
    assert fcm.counts()["token_requests"] == 2
