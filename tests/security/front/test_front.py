"""What gets through the front, and how it comes out at the other side."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches

from config.front.command import command
from config.front.front import Front
from config.front.worker_limits import Limits
from config.stack.answers import http
from tests.given.waiting import eventually
from tests.roles.every_page import HEADERS
from tests.security import asking
from tests.security.front.scope import SCOPE
from tests.security.front.slow import callers, get, heard, post
from tests.servers.ports import free_ports

Serve = Callable[..., str]
BARE = ("granian", "tests.security.front.echo:bare", "--interface", "wsgi", "--no-ws")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """The echo, behind the front or bare; its address."""
    started: list[subprocess.Popen[bytes]] = []

    def served(*, bare: bool = False, **limits: Any) -> str:
        (port,) = free_ports(1)
        front = command(application="tests.security.front.echo:behind", port=str(port), processes=1)
        argv = (sys.executable, "-m", *BARE, "--port", str(port)) if bare else front
        given = {"HURRIED": json.dumps(limits), "WAIT_FOR": str(tmp_path / "go")}
        started.append(subprocess.Popen(argv, env={**os.environ, **given}))
        eventually("it answers", http(f"http://127.0.0.1:{port}/"), seconds=60)
        return f"http://127.0.0.1:{port}"

    yield served
    for process in started:
        process.kill()
        process.wait(10)


ODD = {
    "escapes": get("/a%2Fb%FF;x%20y?q=%FF&a=;b%20c"),
    "dots and slashes": get("//a/../b/./%2e%2e/"),
    "Korean": get("/%ED%95%9C?%ED%95%9C=1"),
    "raw UTF-8": get("/x").replace(b"/x", "/한?한=1".encode()),
    "no path": get("?a=1").replace(b"GET ?", b"GET /?"),
    "a whole address": get("http://other/x?y=1"),
    "OPTIONS *": get("*").replace(b"GET", b"OPTIONS"),
    "repeated headers": get("/", "X-A: 1", "X-A: 2", "Accept: a", "Accept: b"),
    "an empty header": get("/", "X-Empty:", "Referer: http://x/?a=1, 2"),
    "a body": post("/", 3, "Content-Type: text/plain; charset=latin-1", sent=b"\xff\x00a"),
    "a body of a GET": post("/", 3, sent=b"abc").replace(b"POST", b"GET"),
    "an empty body": post("/", 0, sent=b""),
    "an odd method": get("/").replace(b"GET", b"BREW"),
}


def told(url: str, said: bytes) -> dict[str, str]:
    with callers(url, 1, said.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)) as (one,):
        head, _, body = heard(one).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    return dict(json.loads(body))


def test_django_is_asked_as_if_there_were_no_front(serve: Serve) -> None:
    bare, behind = serve(bare=True), serve()
    for name, said in ODD.items():
        assert told(behind, said) == told(bare, said), name


def test_a_header_with_an_underscore_does_not_pass_for_another(serve: Serve) -> None:
    said = told(serve(), get("/", "X_Forwarded_For: 6.6.6.6", "X-Real-IP: 1.1.1.1"))
    assert "HTTP_X_FORWARDED_FOR" not in said
    assert said["HTTP_X_REAL_IP"] == "1.1.1.1"


def test_cookies_in_several_headers_are_all_there(serve: Serve) -> None:
    said = told(serve(), get("/", "Cookie: a=1", "Cookie: b=2", "X-Latin: caf\xe9"))
    assert said["HTTP_COOKIE"] == "a=1; b=2"


def test_chunks_arrive_as_one_body_with_its_length(serve: Serve) -> None:
    answer = asking.post(serve(), iter([b"ab", b"c"]))
    assert (answer.json["body"], answer.json["CONTENT_LENGTH"]) == ("abc", "3")
    assert "HTTP_TRANSFER_ENCODING" not in answer.json


def test_a_caller_who_asks_first_is_told_to_go_on(serve: Serve) -> None:
    with callers(serve(), 1, post("/", 3, "Expect: 100-continue", sent=b"")) as (caller,):
        assert caller.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        caller.sendall(b"abc")
        assert b'"body": "abc"' in caller.recv(10_000)


def test_a_connection_is_kept_and_head_has_no_body(serve: Serve) -> None:
    head = get("/parts").replace(b"GET", b"HEAD")
    with callers(serve(), 1, head + get("/x") + get("/parts", "Connection: close")) as (caller,):
        said = heard(caller)
    assert said.count(b"HTTP/1.1 200 OK") == 3
    assert said.count(b"set-cookie: a=1") == 3
    assert 500_000 <= said.count(b"x") < 500_100


def test_probes_answer_while_every_thread_waits_and_others_are_told_to_come_back(
    serve: Serve, tmp_path: Path
) -> None:
    url = serve(threads=1, waiting=0)
    with ThreadPoolExecutor(1) as one:
        waiting = one.submit(asking.get, f"{url}/wait")
        eventually("it waits", lambda: (tmp_path / "go.begun").exists())
        refused, problem = asking.get(f"{url}/x"), asking.get(f"{url}/api/v1/x")
        for path in ("/healthz", "/readyz", "/metrics"):
            assert asking.get(url + path).status == 200
        (tmp_path / "go").touch()
        assert waiting.result().status == 200
    assert refused.headers["Retry-After"] == problem.headers["Retry-After"] == "2"
    assert "Too many requests are waiting" in refused.text
    assert problem.headers["Content-Type"] == "application/problem+json"


def test_what_fails_is_answered_as_all_else_is_and_logged_once(
    serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    url = serve()
    page, problem = asking.get(f"{url}/raise"), asking.get(f"{url}/api/v1/raise")
    for answer in (page, problem):
        assert answer.status == 500
        assert "Something failed on our side; it is logged." in answer.text
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert answer.headers["Cache-Control"] == "no-store"
    assert page.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert problem.headers["Content-Type"] == "application/problem+json"
    assert "".join(capfd.readouterr()).count("RuntimeError: innermost words") == 2


def test_what_runs_is_finished_when_the_server_is_asked_to_leave(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    argv = command(application="tests.security.front.echo:behind", port=str(port), processes=1)
    process = subprocess.Popen(argv, env={**os.environ, "WAIT_FOR": str(tmp_path / "go")})
    url = f"http://127.0.0.1:{port}"
    eventually("it answers", http(f"{url}/"), seconds=60)
    half = post("/", 100)
    with ThreadPoolExecutor(1) as one, callers(url, 20, half) as slow:
        waiting = one.submit(asking.get, f"{url}/wait")
        eventually("it waits", lambda: (tmp_path / "go.begun").exists())
        process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionError):
            eventually("nobody else is let in", lambda: not asking.get(f"{url}/"))
        (tmp_path / "go").touch()
        assert waiting.result().status == 200
        assert process.wait(40) == 0
        assert len(slow) == 20


def test_a_request_finds_the_caches_connections_of_the_one_before() -> None:
    used: list[Any] = []  # kept, or one could stand where the one before stood

    def product(environ: dict[str, Any], start: Any) -> list[bytes]:
        used.append(caches["default"])
        start("200 OK", [])
        return [b""]

    async def ask() -> None:
        for _ in range(20):
            await front(SCOPE, None, take)

    async def take(_: Any) -> None: ...

    front = Front(product, Limits(threads=1))
    asyncio.run(ask())
    assert len(used) == 20
    assert len({id(cache) for cache in used}) == 1


def test_those_who_ask_for_readiness_at_once_share_an_answer_under_their_own_names() -> None:
    asked: list[str] = []

    def product(environ: dict[str, Any], start: Any) -> list[bytes]:
        asked.append(environ["REQUEST_METHOD"])
        start("200 OK", [("X-Request-ID", environ["HTTP_X_REQUEST_ID"]), ("X-Frame-Options", "D")])
        return [b"ready"]

    def probe(name: str, **more: Any) -> Any:
        headers = [(b"x-request-id", name.encode())]
        return said_by(front, {"raw_path": b"/readyz", "headers": headers, **more})

    async def ask() -> list[list[dict[str, Any]]]:
        return await asyncio.gather(*(probe(f"n{n}") for n in range(50)), probe("x", method="HEAD"))

    front = Front(product)
    *shared, head = asyncio.run(ask())
    assert sorted(asked) == ["GET", "HEAD"]
    for n, (start, body) in enumerate(shared):
        assert dict(start["headers"]) == {
            b"x-request-id": f"n{n}".encode(),
            b"x-frame-options": b"D",
        }
        assert (start["status"], body["body"]) == (200, b"ready")
    assert head[1]["body"] == b""


def test_later_it_is_asked_again_and_the_numbers_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def product(environ: dict[str, Any], start: Any) -> list[bytes]:
        asked.append(environ["PATH_INFO"])
        start("200 OK", [])
        return [b""]

    async def ask() -> None:
        for path in ("/readyz", "/readyz", "/metrics", "/metrics"):
            await said_by(front, {"raw_path": path.encode()})
        monkeypatch.setattr("config.front.dispatch.shared.SECONDS", 0)
        await said_by(front, {"raw_path": b"/readyz", "method": "HEAD"})
        while front.shared["/readyz"].pending.get("HEAD"):
            await asyncio.sleep(0)
        await said_by(front, {"raw_path": b"/readyz", "method": "HEAD"})

    front = Front(product)
    asyncio.run(ask())
    assert asked == ["/readyz", "/metrics", "/metrics", "/readyz", "/readyz"]


def test_bad_news_of_readiness_are_given_out_to_nobody_later() -> None:
    statuses = ["503 Service Unavailable", "200 OK"]

    def product(environ: dict[str, Any], start: Any) -> list[bytes]:
        start(statuses.pop(0), [])
        return [b""]

    async def ask() -> list[int]:
        found = []
        for _ in range(2):
            start, _body = await said_by(front, {"raw_path": b"/readyz"})
            found.append(start["status"])
            await asyncio.sleep(0.01)
        return found

    front = Front(product)
    assert asyncio.run(ask()) == [503, 200]


async def said_by(front: Front, scope: dict[str, Any]) -> list[dict[str, Any]]:
    said = []

    async def send(event: dict[str, Any]) -> None:
        said.append(event)

    await front({**SCOPE, **scope}, None, send)
    return said
