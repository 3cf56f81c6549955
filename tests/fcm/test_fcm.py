"""The gateway over real TLS: an Outcome for every Push, whatever happens to its neighbours."""

from __future__ import annotations

import asyncio
from asyncio.base_events import BaseEventLoop
from collections.abc import Iterator
from typing import Any

import pytest

from notifications.fcm import fcm as gateway_module
from notifications.gateway import BadCredentials, Verdict
from notifications.keys.minting import AccountKey, Minted, TokenUnavailable
from notifications.keys.tokens import AccessTokens
from tests.fcm.message import message
from tests.fcm.ways import Gateways, tokens_of
from tests.servers.fcm import Fcm


class RevokedKey(AccountKey):
    """A key that mints one token and is deleted in the console while that token is in use."""

    minted = False

    def mint(self) -> Minted:
        if self.minted:
            raise BadCredentials("its key was deleted")
        self.minted = True
        return super().mint()


@pytest.fixture
def revoked(fcm: Fcm) -> Iterator[AccessTokens]:
    tokens = AccessTokens(RevokedKey(fcm.service_account, ca_file=str(fcm.ca_file)))
    asyncio.run(tokens.current())
    fcm.revoke()
    yield tokens


def test_many_messages_share_one_token_and_each_gets_its_own_outcome(
    fcm: Fcm, gateways: Gateways
) -> None:
    outcomes = gateways.send([message(number) for number in range(50)])

    assert {outcome.reference for outcome in outcomes} == {f"81:{number}" for number in range(50)}
    assert {outcome.verdict for outcome in outcomes} == {Verdict.ACCEPTED}
    assert fcm.counts()["token_requests"] == 1


def test_a_token_that_expired_is_replaced_once_and_nothing_fails(
    fcm: Fcm, gateways: Gateways
) -> None:
    tokens = tokens_of(fcm)
    asyncio.run(tokens.current())
    fcm.revoke()

    outcomes = gateways.send([message(number) for number in range(20)], tokens=tokens)

    assert {outcome.verdict for outcome in outcomes} == {Verdict.ACCEPTED}
    assert fcm.counts()["token_requests"] == 2


def test_a_key_that_dies_in_use_loses_no_answer_and_names_the_key(
    fcm: Fcm, revoked: AccessTokens, gateways: Gateways
) -> None:
    outcomes = gateways.send([message(number) for number in range(5)], tokens=revoked)

    assert [outcome.reason for outcome in outcomes] == ["bad_credentials"] * 5
    assert {outcome.verdict for outcome in outcomes} == {Verdict.UNAUTHORISED}


def test_without_a_permit_nothing_leaves(fcm: Fcm, gateways: Gateways) -> None:
    outcomes = gateways.send([message(1)], seconds=0)

    assert [outcome.verdict for outcome in outcomes] == [Verdict.UNSENT]
    assert fcm.counts()["requests"] == 0


def test_a_permit_that_ends_while_a_socket_is_opened_lets_nothing_leave(
    fcm: Fcm, monkeypatch: pytest.MonkeyPatch, gateways: Gateways
) -> None:
    """A name, TCP and TLS can take seconds; a pause must not wait for them."""
    look_up = BaseEventLoop.getaddrinfo

    async def slowly(*args: Any, **more: Any) -> Any:
        await asyncio.sleep(1)
        return await look_up(*args, **more)

    monkeypatch.setattr(BaseEventLoop, "getaddrinfo", slowly)
    monkeypatch.setattr(fcm, "url", fcm.url.replace("127.0.0.1", "localhost"))

    outcomes = gateways.send([message(1), message(2)], seconds=0.5)

    assert [outcome.verdict for outcome in outcomes] == [Verdict.UNSENT] * 2
    assert fcm.counts()["requests"] == 0


def test_a_certificate_we_do_not_know_stops_everything_before_it_leaves(
    fcm: Fcm, gateways: Gateways
) -> None:
    (outcome,) = gateways.send([message(1)], knows_ca=False)
    assert (outcome.verdict, outcome.reason) == (Verdict.TRANSIENT, "unreachable")
    assert fcm.witness() == []


def test_a_name_that_is_never_resolved_stops_everything_before_it_leaves(
    fcm: Fcm, monkeypatch: pytest.MonkeyPatch, gateways: Gateways
) -> None:
    async def for_ever(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(BaseEventLoop, "getaddrinfo", for_ever)
    for name in ("ANSWER_WITHIN", "CONNECT_WITHIN"):
        monkeypatch.setattr(gateway_module, name, getattr(gateway_module, name) / 20)
    monkeypatch.setattr(fcm, "url", "https://fcm.invalid")

    (outcome,) = gateways.send([message(1)], tokens=tokens_of(fcm))

    assert (outcome.verdict, outcome.reason) == (Verdict.TRANSIENT, "unreachable")


def test_with_one_socket_a_batch_follows_the_other(gateways: Gateways) -> None:
    outcomes = gateways.send(*([message(each)] for each in range(3)), connections=1)
    assert [outcome.verdict for outcome in outcomes] == [Verdict.ACCEPTED] * 3


def test_an_installation_id_travels_as_one(fcm: Fcm, gateways: Gateways) -> None:
    gateways.send([message(1, kind="fid", address="cGxlYXNlLXJpbmc")])
    assert fcm.witness()[0]["kind"] == "fid"


@pytest.mark.parametrize(
    ("address", "verdict"),
    [
        ("reset-1:APA91b", Verdict.UNANSWERED),
        ("lost-1:APA91b", Verdict.UNANSWERED),
        ("flaky-1:APA91b", Verdict.TRANSIENT),
        ("throttled-1:APA91b", Verdict.THROTTLED),
    ],
)
def test_what_may_have_arrived_is_told_from_what_surely_did_not(
    fcm: Fcm, address: str, verdict: Verdict, gateways: Gateways
) -> None:
    (outcome,) = gateways.send([message(1, address=address)])
    assert outcome.verdict is verdict
    if verdict in (Verdict.TRANSIENT, Verdict.THROTTLED):
        assert outcome.retry_after == 2


def test_an_outage_of_the_token_endpoint_is_asked_about_once_not_by_every_message(
    fcm: Fcm, gateways: Gateways
) -> None:
    asked = []

    class Unreachable(AccountKey):
        def mint(self) -> Minted:
            asked.append(1)
            raise TokenUnavailable("no answer")

    tokens = AccessTokens(Unreachable(fcm.service_account, ca_file=str(fcm.ca_file)))
    outcomes = gateways.send([message(number) for number in range(50)], tokens=tokens)

    assert {(each.verdict, each.reason) for each in outcomes} == {
        (Verdict.TRANSIENT, "unreachable")
    }
    assert len(asked) == 1
    assert fcm.counts()["requests"] == 0


def test_a_token_that_cannot_be_renewed_in_time_is_used_until_it_expires(fcm: Fcm) -> None:
    class SilentLater(AccountKey):
        silent = False

        def mint(self) -> Minted:
            if self.silent:
                raise TokenUnavailable("no answer")
            return super().mint()

    key = SilentLater(fcm.service_account, ca_file=str(fcm.ca_file))
    tokens = AccessTokens(key)
    token = asyncio.run(tokens.current())
    key.silent, tokens._refresh_at = True, 0.0

    assert asyncio.run(tokens.current()) == token


def test_an_error_never_shows_the_token(fcm: Fcm, gateways: Gateways) -> None:
    (outcome,) = gateways.send([message(1, address="reset-1:APA91b")])
    assert outcome.detail
    assert "Bearer" not in outcome.detail


def test_a_project_told_to_wait_for_hours_sends_nothing_for_hours(
    fcm: Fcm, gateways: Gateways
) -> None:
    fcm.script("answer", answer={"status": 429, "body": ""}, retry_after="7200")
    outcomes = gateways.send([message(number) for number in range(50)])
    shut_out = [outcome for outcome in outcomes if outcome.verdict is Verdict.UNSENT]
    assert shut_out
    assert {round(outcome.retry_after or 0, -2) for outcome in shut_out} == {7_200}
