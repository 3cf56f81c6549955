"""F64, F65: the web is called by those who mean no good, while a run is under way."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.security.front.slow import A_FORM, callers, family, heard, post, waiting

MANY = 500
MEGABYTE = 1024 * 1024
FORM = "Content-Type: multipart/form-data; boundary=x"
FILE = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'


@fault("F64", f"{MANY} callers fall silent in a body")
def silent(scene: Scene) -> None:
    """Pages and probes answer meanwhile, and each of them is told that it was too slow."""
    door = scene.door()
    with callers(door.url, MANY, post("/admin/login/", 1000, *A_FORM)) as slow:
        scene.launch()
        for path in ("/healthz", "/admin/login/", "/admin/") * 3:
            assert door.page(path).status == 200, f"{path} did not answer"
        assert waiting(slow) > 0, "they were gone before anything was shown"
        for caller in slow:
            caller.settimeout(60)
            assert heard(caller).startswith(b"HTTP/1.1 408 "), "a silent caller was waited for"
    scene.finish()
    assert scene.worker("web").alive


@fault("F65", "200 MB to the log-in, without one")
def large(scene: Scene) -> None:
    """Refused before it is kept, in memory or in a file."""
    door = scene.door()
    assert door.page("/admin/login/").status == 200
    pid, files = scene.worker("web").pid, _uploads()
    before = _peak(pid)
    scene.launch()
    head = post("/admin/login/", 200 * MEGABYTE, FORM, sent=b"")
    said = _pour(door.url, head, lambda piece: piece)
    assert said.startswith(b"HTTP/1.1 413 "), f"it heard {said[:40]!r}"
    head = head.replace(b"Content-Length: 209715200", b"Transfer-Encoding: chunked")
    said = _pour(door.url, head, lambda piece: b"%x\r\n%s\r\n" % (len(piece), piece))
    assert said.startswith(b"HTTP/1.1 413 "), f"in chunks it heard {said[:40]!r}"
    scene.finish()
    assert _peak(pid) - before < 20 * MEGABYTE, "it was kept in memory"
    assert not _uploads() - files, "it was kept in files"


def _pour(url: str, head: bytes, wrapped: Callable[[bytes], bytes]) -> bytes:
    """All of it, or as much as is taken; what was said to that."""
    with callers(url, 1, head) as (caller,):
        with contextlib.suppress(ConnectionError):
            for piece in (FILE, *[b"x" * MEGABYTE] * 200):
                caller.sendall(wrapped(piece))
        return heard(caller)


def _uploads() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("*.upload*"))


def _peak(pid: int) -> int:
    """The most that it and its children ever had, in bytes."""
    lines = [
        line
        for each in family(pid)
        for line in Path(f"/proc/{each}/status").read_text().splitlines()
        if line.startswith("VmHWM:")
    ]
    return sum(int(line.split()[1]) * 1024 for line in lines)
