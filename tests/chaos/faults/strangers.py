"""F107 to F110: strangers use what others need, disk, memory, sockets, log-ins, under a run."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlencode

from django.contrib.auth import get_user_model

from notifications.staff.login_throttle import LIMITS, By, Guesses, Kind
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.waiting import eventually
from tests.security.front.slow import callers, family, get, heard

MANY = 300
MEGABYTE = 1024 * 1024
PARTS = 60  # of a form
SOCKETS = 1_001  # of a feed that keeps one stream
FREE = {"PAGE_RATE_PER_ADDRESS": "0", "API_RATE_PER_ADDRESS": "0"}
PASSWORD = "a long pass phrase"


@fault("F107", f"{MANY} forged forms with long addresses", different={"web": FREE})
def forged(scene: Scene) -> None:
    """Each is refused, and all of them are a few short lines of the log."""
    door = scene.door()
    log = scene.worker("web").log
    before = log.stat().st_size
    scene.launch()
    for number in range(MANY):
        path = f"/admin/{number}{'x' * 7_000}"
        assert _said(door.url, _posted(path)).startswith(b"HTTP/1.1 403 ")
    scene.finish()
    assert log.stat().st_size - before < 20_000, "each of them was logged"


@fault("F108", f"{PARTS * MANY:,} encodings that nobody has", different={"web": FREE})
def encodings(scene: Scene) -> None:
    """No name of them is kept: the web is as large as before."""
    door = scene.door()
    for number in range(50):  # what is loaded at the first calls
        _said(door.url, _of_parts(f"known{number % 2}"))
    before = _held(scene.worker("web").pid)
    scene.launch()
    for number in range(MANY):
        _said(door.url, _of_parts(f"n{number}{'x' * 800}"))
    scene.finish()
    assert _held(scene.worker("web").pid) - before < 8 * MEGABYTE, "made-up names were kept"


@fault(
    "F109",
    "one address takes the sockets of the feed",
    different={"feed": {"FEED_STREAMS": "1", **FREE}},
)
def sockets(scene: Scene) -> None:
    """Links of others are opened meanwhile."""
    port = scene.feed()
    silent = [
        socket.create_connection(("127.0.0.1", port), 30, ("127.0.0.2", 0)) for _ in range(SOCKETS)
    ]
    scene.launch()
    said = [_said(f"http://127.0.0.1:{port}", get("/o/x", "Connection: close")) for _ in range(9)]
    assert all(each.startswith(b"HTTP/1.1 404 ") for each in said), "others were shut out"
    for each in silent:
        each.close()
    scene.finish()


@fault("F110", "one account logs in again and again", different={"web": FREE})
def one_account(scene: Scene) -> None:
    """After some it has to wait, and the others are let in."""
    door = scene.door()
    people = get_user_model().objects
    for name in ("busy", "other"):
        if not people.filter(username=name).exists():
            people.create_superuser(name, f"{name}@example.com", PASSWORD)
    Guesses.objects.all().delete()
    most = LIMITS[Kind.PASSWORD][By.RIGHT].most
    scene.launch()
    answers = [_log_in(door.url, "busy") for _ in range(most + 10)]
    assert (answers.count(302), answers.count(429)) == (most, 10), f"it was answered {answers}"
    eventually("another is let in", lambda: _log_in(door.url, "other") == 302, seconds=30)
    scene.finish()


def _log_in(url: str, name: str) -> int:
    token = "a" * 32
    form = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token}
    body = urlencode(form).encode()
    headers = ("Content-Type: application/x-www-form-urlencoded", f"Cookie: csrftoken={token}")
    return int(_said(url, _posted("/admin/login/", *headers, body=body)).split()[1])


def _posted(path: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "Connection: close", "", ""]).encode() + body


def _of_parts(name: str) -> bytes:
    """A form of which each part names an encoding of its own."""
    lines = (f"Content-Disposition: form-data; name*={name}{each}''a" for each in range(PARTS))
    body = "".join(f"--x\r\n{line}\r\n\r\n\r\n" for line in lines) + "--x--\r\n"
    kind = "Content-Type: multipart/form-data; boundary=x"
    return _posted("/admin/login/", kind, body=body.encode())


def _said(url: str, request: bytes) -> bytes:
    with callers(url, 1, request) as (one,):
        return heard(one)


def _held(pid: int) -> int:
    """What it and its children have now, in bytes."""
    texts = [Path(f"/proc/{each}/status").read_text() for each in family(pid)]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("VmRSS:")]
    return sum(int(line.split()[1]) * 1024 for line in lines)
