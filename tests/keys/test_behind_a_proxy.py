"""A token is asked for through the proxy, where there is one, and its password stays with it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings

from notifications.keys.minting import AccountKey, TokenUnavailable
from notifications.proxy import Proxy as Named
from tests.servers.fcm import Fcm
from tests.servers.proxy import Proxy

PASSWORD = "open-sesame"


@pytest.fixture
def proxy(fcm: Fcm, settings: LazySettings) -> Iterator[Proxy]:
    proxy = Proxy(urlsplit(fcm.url).port or 0, login=f"carol:{PASSWORD}")
    settings.HTTPS_PROXY, settings.NO_PROXY = Named(proxy.url), ""
    yield proxy
    proxy.stop()


def key(fcm: Fcm, *, port: int = 443) -> AccountKey:
    """Of Google, which the emulator is behind the proxy."""
    account = {**fcm.service_account, "token_uri": f"https://oauth2.googleapis.com:{port}/token"}
    return AccountKey(account, ca_file=str(fcm.ca_file))


def test_a_token_is_minted_through_the_tunnel(fcm: Fcm, proxy: Proxy) -> None:
    assert key(fcm).mint().token.startswith("ya29.")
    assert proxy.asked == ["oauth2.googleapis.com:443"]
    assert "assertion" not in proxy.heads[0], "what is signed is said behind it"


def test_for_whom_no_proxy_names_it_is_not_asked(
    fcm: Fcm, proxy: Proxy, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = socket.getaddrinfo

    def here(host: Any, *args: Any, **more: Any) -> Any:
        return look_up("127.0.0.1" if host == "oauth2.googleapis.com" else host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    settings.NO_PROXY = ".googleapis.com"

    assert key(fcm, port=urlsplit(fcm.url).port or 0).mint().token.startswith("ya29.")
    assert proxy.heads == []


@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY", "all_proxy"])
def test_nothing_but_the_settings_sends_it_through_one(
    fcm: Fcm, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """What the process was started with is what the log and Operations say."""
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert AccountKey(fcm.service_account, ca_file=str(fcm.ca_file)).mint().token


@pytest.mark.parametrize(
    ("refusal", "said"),
    [("", "407 Proxy Authentication Required"), ("502 Bad Gateway", "502 Bad Gateway")],
)
def test_a_proxy_that_refuses_is_a_trouble_that_may_pass_and_is_named(
    fcm: Fcm, proxy: Proxy, refusal: str, said: str
) -> None:
    proxy.login, proxy.refusal = "carol:another", refusal
    with pytest.raises(TokenUnavailable, match=said) as raised:
        key(fcm).mint()
    assert str(raised.value).endswith(f"(through the proxy 127.0.0.1:{proxy.port})")
    assert PASSWORD not in str(raised.value)


def test_so_is_one_that_is_away(fcm: Fcm, proxy: Proxy) -> None:
    proxy.stop()
    with pytest.raises(TokenUnavailable, match=rf"\(through the proxy 127.0.0.1:{proxy.port}\)$"):
        key(fcm).mint()
