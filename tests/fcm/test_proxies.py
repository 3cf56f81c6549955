"""Behind a proxy: what goes through its tunnel, what never leaves, and what passes it by."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings

from notifications import dispatch, key_check, tasks
from notifications.fcm import fcm as gateway_module
from notifications.fcm.fcm import Destination
from notifications.fcm.transport.aiohttp_transport import AiohttpGateway
from notifications.fcm.transport.pool import WireGateway
from notifications.fcm.transport.selection import choose_transport
from notifications.gateway import Arrived, Outcome, Permit, Verdict
from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from notifications.proxy import Proxy as Named
from tests.fcm.message import APP
from tests.fcm.ways import gateway_to, push, run, send, tokens_of
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.identity import Authority
from tests.servers.proxy import Proxy
from tests.servers.rude import Rude

FCM, TOKENS = "fcm.googleapis.com:443", "oauth2.googleapis.com:443"
PASSWORD = "open-sesame"
LOGIN = f"carol:{PASSWORD}"


@pytest.fixture(autouse=True)
def nothing_is_said(settings: LazySettings) -> None:
    """Whatever the tests themselves were started with."""
    settings.HTTPS_PROXY, settings.NO_PROXY, settings.TRANSPORT = None, "", ""


@pytest.fixture
def proxy(fcm: Fcm, project: Project, settings: LazySettings) -> Iterator[Proxy]:
    """The project sends to Google, which is the emulator, and is reached through this alone."""
    settings.FCM_ENDPOINT = settings.GOOGLE_FCM_ENDPOINT
    settings.FCM_TOKEN_URI = settings.GOOGLE_TOKEN_URI
    ServiceAccount.store(project, {**fcm.service_account, "token_uri": settings.GOOGLE_TOKEN_URI})
    proxy = Proxy(urlsplit(fcm.url).port or 0, login=LOGIN)
    settings.HTTPS_PROXY = Named(proxy.url)
    yield proxy
    proxy.stop()


def start(project: Project, count: int = 1) -> Future[list[Outcome]]:
    """As a worker sends."""
    messages = [push(number) for number in range(count)]
    return dispatch.dispatch(dispatch.gateway_of(project), messages, Permit(60))


def sent(project: Project, count: int = 1) -> list[Outcome]:
    return start(project, count).result(30)


# --- Through it -----------------------------------------------------------------------------------


def test_a_message_and_its_token_go_through_and_the_proxy_hears_nothing_but_where_to(
    project: Project, fcm: Fcm, proxy: Proxy
) -> None:
    (outcome,) = sent(project)

    assert (outcome.verdict, outcome.arrived) == (Verdict.ACCEPTED, Arrived.YES)
    assert [record["address"] for record in fcm.witness()] == [push(0).address]
    assert proxy.asked == [TOKENS, FCM]
    assert {head.split()[0] for head in proxy.heads} == {"CONNECT"}
    assert not {"Bearer", "carillon-demo"} & set(" ".join(proxy.heads).replace("/", " ").split())


def test_one_message_after_the_other_goes_through_one_tunnel(
    project: Project, proxy: Proxy, settings: LazySettings
) -> None:
    settings.CONNECTIONS = 2
    assert {outcome.verdict for outcome in sent(project, 50)} == {Verdict.ACCEPTED}
    assert proxy.asked == [TOKENS, FCM, FCM]


def test_the_proxys_password_goes_to_the_proxy_and_to_nobody_behind_it(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    google = Rude(authority.server("fcm.googleapis.com"))
    proxy = Proxy(google.port, login="carol:s/e@s%")
    named = Named(proxy.url_with("carol:s%2Fe%40s%25"))

    async def one() -> list[Outcome]:
        gateway = gateway_to(
            "https://fcm.googleapis.com", "aiohttp", ca_file=authority.ca_file, proxy=named
        )
        try:
            return await send(gateway, [push(1)])
        finally:
            await gateway.close()

    (outcome,) = run(one())
    assert outcome.verdict is Verdict.ACCEPTED
    assert [name for name in google.heard[0].words if "proxy" in name] == []
    proxy.stop()
    google.stop()


def test_the_key_check_and_the_figures_take_the_same_way(project: Project, proxy: Proxy) -> None:
    assert key_check.check_key(project).ok
    assert proxy.asked == [TOKENS, FCM]
    project.fcm_app_id = APP
    project.save()
    tasks.fetch_figures(project_id=project.pk)
    assert proxy.asked[2:] == [TOKENS, FCM]


# --- When it does not let us through --------------------------------------------------------------


def refuses(words: str) -> Callable[[Proxy], None]:
    return lambda proxy: setattr(proxy, "refusal", words)


def wants_another_password(proxy: Proxy) -> None:
    proxy.login = "carol:another"


def hangs_up(proxy: Proxy) -> None:
    proxy.mode = "close"


def is_silent(proxy: Proxy) -> None:
    proxy.mode = "hold"


def is_away(proxy: Proxy) -> None:
    proxy.stop()


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (refuses("403 Forbidden"), "it answered 403 Forbidden"),
        (refuses("502 Bad Gateway"), "it answered 502 Bad Gateway"),
        (wants_another_password, "it answered 407 Proxy Authentication Required"),
        (hangs_up, ""),
        (is_silent, "not within time"),
        (is_away, "Cannot connect"),
    ],
)
def test_what_the_proxy_does_not_let_through_has_not_left(
    project: Project,
    fcm: Fcm,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    trouble: Callable[[Proxy], None],
    said: str,
) -> None:
    monkeypatch.setattr(gateway_module, "CONNECT_WITHIN", 0.5)
    gateway = dispatch.gateway_of(project)
    assert isinstance(gateway, AiohttpGateway)
    dispatch.in_loop(gateway._tokens.current()).result(30)
    trouble(proxy)

    (outcome,) = sent(project)

    assert (outcome.verdict, outcome.reason) == (Verdict.TRANSIENT, "unreachable")
    assert outcome.arrived is Arrived.NO
    assert said in outcome.detail and PASSWORD not in outcome.detail
    assert outcome.detail.endswith(f"(through the proxy 127.0.0.1:{proxy.port})")
    assert fcm.witness() == []


def test_a_token_that_the_proxy_does_not_let_us_have_keeps_the_message_here(
    project: Project, fcm: Fcm, proxy: Proxy
) -> None:
    proxy.refusal = "403 Forbidden"

    (outcome,) = sent(project)

    assert (outcome.verdict, outcome.reason) == (Verdict.TRANSIENT, "unreachable")
    assert outcome.arrived is Arrived.NO
    assert "403 Forbidden" in outcome.detail and PASSWORD not in outcome.detail
    assert outcome.detail.endswith(f"(through the proxy 127.0.0.1:{proxy.port})")
    assert fcm.counts()["requests"] == 0


def test_a_tunnel_that_breaks_behind_a_message_leaves_it_in_doubt(
    project: Project, fcm: Fcm, proxy: Proxy
) -> None:
    fcm.script("slow", seconds=20, prefix="phone0:")
    on_its_way = start(project)
    eventually("it arrived", lambda: fcm.counts()["requests"])

    proxy.hang_up()

    (outcome,) = on_its_way.result(30)
    assert (outcome.verdict, outcome.arrived) == (Verdict.UNANSWERED, Arrived.MAYBE)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [(wants_another_password, "answered 407"), (is_away, "Cannot connect to host")],
)
def test_the_key_check_says_that_it_was_the_proxy(
    project: Project, proxy: Proxy, trouble: Callable[[Proxy], None], said: str
) -> None:
    trouble(proxy)
    found = key_check.check_key(project)
    assert not found.ok
    assert f"(through the proxy 127.0.0.1:{proxy.port})" in found.words
    assert PASSWORD not in found.words


# --- Past it --------------------------------------------------------------------------------------


@pytest.fixture
def google_is_here(
    fcm: Fcm, proxy: Proxy, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> int:
    """Without the proxy as well: its names lead to this machine, its port is the emulator's."""
    look_up = socket.getaddrinfo

    def here(host: Any, *args: Any, **more: Any) -> Any:
        return look_up("127.0.0.1" if "googleapis" in str(host) else host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    port = urlsplit(fcm.url).port or 0
    settings.FCM_ENDPOINT = f"https://fcm.googleapis.com:{port}"
    return port


def sent_as_chosen(project: Project, fcm: Fcm) -> Outcome:
    """As a worker does, on a loop that looks names up where the test has bent them."""
    way = choose_transport(project.endpoint)

    async def one() -> list[Outcome]:
        gateway = way.gateway(
            Destination(
                endpoint=project.endpoint,
                firebase_project_id="carillon-demo",
                tokens=tokens_of(fcm),
                connections=1,
                ca_file=project.ca_file,
                proxy=way.through,
            )
        )
        try:
            return await send(gateway, [push(1)])
        finally:
            await gateway.close()

    (outcome,) = asyncio.run(one())
    return outcome


@pytest.mark.parametrize(
    "said",
    ["fcm.googleapis.com", ".googleapis.com", "googleapis.com", "a.example, .GoogleAPIs.com",
     "*.googleapis.com", "fcm.googleapis.com:{port}", "*"],
)  # fmt: skip
def test_whom_no_proxy_names_is_sent_to_directly(
    project: Project, fcm: Fcm, proxy: Proxy, settings: LazySettings, google_is_here: int, said: str
) -> None:
    settings.NO_PROXY = said.format(port=google_is_here)

    assert sent_as_chosen(project, fcm).verdict is Verdict.ACCEPTED
    assert str(choose_transport(project.endpoint)) == "wire"
    assert proxy.heads == []


@pytest.mark.parametrize(
    "said", [",", ".", "apis.com", "fcm.googleapis.com:443", "oauth2.googleapis.com"]
)
def test_whom_no_proxy_does_not_name_is_not(
    project: Project, fcm: Fcm, proxy: Proxy, settings: LazySettings, google_is_here: int, said: str
) -> None:
    settings.NO_PROXY = said

    assert sent_as_chosen(project, fcm).verdict is Verdict.ACCEPTED
    assert proxy.asked == [f"fcm.googleapis.com:{google_is_here}"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"])
def test_this_machine_itself_is_behind_no_proxy(settings: LazySettings, host: str) -> None:
    """So `make run` and `make test` work in a company, too."""
    settings.HTTPS_PROXY = Named("http://proxy.example:3128")
    assert str(choose_transport(f"https://{host}:9099")) == "wire"


def test_transport_wire_passes_the_proxy_by_and_says_so(
    project: Project, fcm: Fcm, proxy: Proxy, settings: LazySettings, google_is_here: int
) -> None:
    settings.TRANSPORT = "wire"

    assert sent_as_chosen(project, fcm).verdict is Verdict.ACCEPTED
    assert proxy.heads == []
    said = f"wire, as TRANSPORT says; the proxy 127.0.0.1:{proxy.port} is not used"
    assert str(choose_transport(project.endpoint)) == said


def test_then_the_key_check_passes_it_by_as_well(
    project: Project, fcm: Fcm, proxy: Proxy, settings: LazySettings
) -> None:
    """A key whose messages do not get through is no key that works."""
    settings.TRANSPORT = "wire"
    settings.FCM_ENDPOINT = "https://fcm.invalid"
    assert not key_check.check_key(project).ok
    assert proxy.asked == [TOKENS]


def test_transport_aiohttp_needs_no_proxy(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    settings.TRANSPORT = "aiohttp"

    assert sent(project)[0].verdict is Verdict.ACCEPTED
    assert isinstance(dispatch.gateway_of(project), AiohttpGateway)
    assert str(choose_transport(project.endpoint)) == "aiohttp, as TRANSPORT says"


def test_where_nobody_says_anything_we_send_over_sockets_of_our_own(
    project: Project, fcm: Fcm
) -> None:
    assert sent(project)[0].verdict is Verdict.ACCEPTED
    assert isinstance(dispatch.gateway_of(project), WireGateway)
