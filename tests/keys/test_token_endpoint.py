"""The token endpoint says what a token is, and makes us ask nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.keys.minting import AccountKey, TokenUnavailable
from tests.given.trap import Trap
from tests.servers.fcm import Fcm
from tests.servers.receiver import Receiver


@pytest.fixture
def key(fcm: Fcm, receiver: Receiver) -> AccountKey:
    info: dict[str, Any] = {**fcm.service_account, "token_uri": receiver.url}
    return AccountKey(info, ca_file=receiver.ca_file)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(key: AccountKey, receiver: Receiver, status: int) -> None:
    trap = Trap()
    receiver.status = status
    receiver.headers = {"Location": f"http://127.0.0.1:{trap.port}/token"}
    with pytest.raises(TokenUnavailable, match="leads to another address"):
        key.mint()
    assert trap.visitors == []
    trap.server.close()


@pytest.mark.parametrize("status", [200, 400, 503])
def test_a_long_answer_is_not_read_to_its_end(
    key: AccountKey, receiver: Receiver, status: int
) -> None:
    receiver.status, receiver.says = status, b" " * 1_000_000
    with pytest.raises(TokenUnavailable, match="more than 64 kB"):
        key.mint()


def test_an_answer_that_never_ends_is_left(
    key: AccountKey, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notifications.keys.token_endpoint.TIMEOUT", 0.2)
    receiver.says, receiver.drips_seconds = b"x" * 1_000, 0.01
    with pytest.raises(TokenUnavailable, match="took longer"):
        key.mint()
