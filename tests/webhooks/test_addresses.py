"""Where nothing may be sent: not as it is saved, and not at a call."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from config.boot.outgoing import Places
from notifications.webhooks.transports import https_post
from notifications.webhooks.transports.url_guard import (
    Forbidden,
    is_public,
    parse,
    resolve,
    validate,
)
from tests.servers.identity import Authority
from tests.servers.receiver import Receiver
from tests.servers.tls_relay import TlsRelay

Resolver = Callable[..., None]

REFUSED = [
    "http://hooks.example.com/",
    "ftp://hooks.example.com/",
    "https://",
    "https:///path",
    "https://hooks.example.com./",
    "https://user@hooks.example.com/",
    "https://user:password@hooks.example.com/",
    "https://127.1/",
    "https://2130706433/",
    "https://017700000001/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://127.0.0.0x1/",
    "https://1.2.3/",
    "https://256.1.1.1/",
    "https://hooks.example.com:0/",
    "https://hooks.example.com:99999/",
    "https://hooks.example.com:x/",
    "https://hooks.example.com/#part",
    "https://hooks.example.com/a b",
    "https://hooks.example.com\\@127.0.0.1/",
    "https://hooks.exämple.com/",
    "https://hooks..example.com/",
    "https://-hooks.example.com/",
    "https://[::1/",
    "https://[fe80::1%25lo]/",
    "https://hooks.example.com/\r\nHost: other",
    "https://hooks%2eexample.com/",
    "javascript:alert(1)",
    f"https://hooks.example.com/{'x' * 2_048}",
]
NOT_PUBLIC = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255",
    "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1",
    "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1", "168.63.129.16",
    "::", "::1", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808",
    "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "fec0::1", "100::1",
]  # fmt: skip


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    """What the names mean just now."""

    def means(*told: str) -> None:
        entries = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in told]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: entries)

    return means


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_is_no_plain_https_one_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        parse(url)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_a_name_of_a_place_that_is_not_public_is_refused(address: str, found: Resolver) -> None:
    found(address)
    with pytest.raises(ValidationError, match="OUTGOING_ALLOWED"):
        validate("https://hooks.example.com/")
    found("93.184.216.34", address)
    with pytest.raises(Forbidden):  # one of two is enough
        resolve(parse("https://hooks.example.com/"))


@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:7f00:1]"])
def test_an_address_in_the_url_itself_is_judged_like_any_other(address: str) -> None:
    with pytest.raises(ValidationError):
        validate(f"https://{address}/")


def test_a_public_one_is_not(found: Resolver) -> None:
    found("93.184.216.34", "2606:2800:220:1::1")
    validate("https://hooks.example.com:8443/path?query=1")


@given(st.ip_addresses())
def test_what_is_public_is_never_ours(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if is_public(address):
        assert not (address.is_private or address.is_loopback or address.is_multicast)
        assert not (address.is_link_local or address.is_reserved or address.is_unspecified)


def test_a_name_that_is_not_found_is_said_to_be() -> None:
    with pytest.raises(ValidationError, match="not found"):
        validate("https://no-such-host.invalid/")


def test_the_operator_allows_hosts_and_networks(settings: LazySettings, found: Resolver) -> None:
    found("10.1.2.3")
    settings.OUTGOING_ALLOWED = Places(frozenset({"hooks.internal"}), ())
    validate("https://hooks.internal/")
    with pytest.raises(ValidationError):
        validate("https://other.internal/")
    settings.OUTGOING_ALLOWED = Places(frozenset(), (ipaddress.ip_network("10.1.0.0/16"),))
    validate("https://other.internal/")


OWN = Places(frozenset(), (), frozenset({"127.0.0.1", "::1"}))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9000/hooks", "http://[::1]:9000/", "http://127.0.0.1/"]
)
def test_ones_own_machine_may_be_called_without_tls_if_the_operator_says_so(
    settings: LazySettings, url: str
) -> None:
    with pytest.raises(ValidationError, match=r"start Carillon with OUTGOING_ALLOWED=http://"):
        validate(url)
    settings.SERVED = True
    with pytest.raises(ValidationError) as refused:
        validate(url)
    assert refused.value.messages == ["The URL must begin with https://."]
    settings.OUTGOING_ALLOWED = OWN
    validate(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "http://127.0.0.2:9000/",
        "http://localhost:9000/",
        "http://10.1.2.3/",
        "http://127.1/",
        "http://user@127.0.0.1/",
        "https://127.0.0.1:9000/",
    ],
)
def test_nothing_else_may_be(settings: LazySettings, url: str, found: Resolver) -> None:
    found("127.0.0.1")
    settings.OUTGOING_ALLOWED = OWN
    with pytest.raises(ValidationError):
        validate(url)


def test_a_name_without_tls_must_mean_ones_own_machine(
    settings: LazySettings, found: Resolver
) -> None:
    settings.OUTGOING_ALLOWED = Places(frozenset(), (), frozenset({"localhost"}))
    found("127.0.0.1", "::1")
    validate("http://localhost:9000/")
    found("93.184.216.34")
    with pytest.raises(Forbidden):
        resolve(parse("http://localhost:9000/"))


def test_a_webhook_reaches_ones_own_machine_without_tls(settings: LazySettings) -> None:
    heard: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # as the library calls it
            self.rfile.read(int(self.headers["Content-Length"]))
            heard.append((self.path, self.headers["Host"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    settings.OUTGOING_ALLOWED = OWN
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        port = server.server_port
        answer = https_post.post(f"http://127.0.0.1:{port}/hooks?of=us", b"{}", {"webhook-id": "x"})
    assert (answer.status, answer.accepted) == (204, True), answer
    assert heard == [("/hooks?of=us", f"127.0.0.1:{port}")]


def test_the_connection_is_made_to_what_was_checked(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that means another place the second time it is asked (rebinding)."""
    asked = []
    port = parse(receiver.url).port

    def getaddrinfo(*_: object, **__: object) -> list[object]:
        asked.append(1)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    connected = []

    def create_connection(to: Any, **_: object) -> socket.socket:
        connected.append(to)
        return _connect(to)

    monkeypatch.setattr(socket, "create_connection", create_connection)
    assert https_post.post(receiver.url, b"{}", {"webhook-id": "x"}).status == 200
    assert (len(asked), connected) == (1, [("127.0.0.1", port)])


def _connect(to: tuple[str, int]) -> socket.socket:
    bare = socket.socket()
    bare.connect(to)
    return bare


def test_what_became_private_since_it_was_saved_is_not_called(
    receiver: Receiver, settings: LazySettings
) -> None:
    settings.OUTGOING_ALLOWED = Places(frozenset(), ())
    answer = https_post.post(receiver.url, b"{}", {"webhook-id": "x"})
    assert (answer.error, answer.text, receiver.heard) == ("forbidden", "", [])


def test_a_redirect_is_an_answer_and_not_followed(receiver: Receiver) -> None:
    receiver.status, receiver.headers = 302, {"Location": receiver.url}
    answer = https_post.post(receiver.url, b"{}", {"webhook-id": "x"})
    assert (answer.status, answer.accepted, len(receiver.heard)) == (302, False, 1)


def test_of_an_endless_answer_the_beginning_is_read(receiver: Receiver) -> None:
    receiver.says = b"x" * 5_000_000
    answer = https_post.post(receiver.url, b"{}", {"webhook-id": "x"})
    assert (answer.status, len(answer.text)) == (200, 1_000)


def test_who_is_too_slow_is_left(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https_post, "ALWAYS", https_post.Bounds(seconds=0.5))
    receiver.slow_seconds = 2.0
    answer = https_post.post(receiver.url, b"{}", {"webhook-id": "x"})
    assert (answer.status, answer.error) == (None, "timeout")


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(
    receiver: Receiver, settings: LazySettings
) -> None:
    settings.OUTGOING_CA_FILE = None
    assert https_post.post(receiver.url, b"{}", {"webhook-id": "x"}).error == "tls"
    assert receiver.heard == []


@pytest.mark.parametrize("is_unnamed", [False, True])
def test_a_common_name_alone_names_no_host(
    receiver: Receiver, settings: LazySettings, tmp_path: Path, is_unnamed: bool
) -> None:
    authority = Authority(tmp_path)
    settings.OUTGOING_CA_FILE = str(authority.ca_file)
    relay = TlsRelay(1, authority.server("localhost", unnamed=is_unnamed))
    answer = https_post.post(f"https://localhost:{relay.port}/", b"{}", {})
    relay.stop()
    assert (answer.error == "tls") is is_unnamed
