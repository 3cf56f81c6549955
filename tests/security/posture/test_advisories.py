"""`make check` asks for known vulnerabilities: it fails on one, and never claims to have looked."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.advisories import OSV, pins
from tests.checks import CHECKS
from tests.config.manage_check import ROOT

LOCK = """\
celery==5.7.0 \\
    --hash=sha256:aa
uvloop==0.23.0 ; sys_platform != "win32" \\
    --hash=sha256:bb
    # via celery
django-otp[qrcode]==1.7.5
Django==5.2.19
"""
PINS = [("celery", "5.7.0"), ("django", "5.2.19"), ("django-otp", "1.7.5"), ("uvloop", "0.23.0")]

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


class Service:
    """Speaks as OSV does, and says what it is told to."""

    def __init__(self) -> None:
        self.answer: Answer = lambda asked: (200, self.all_well(asked))
        self.asked: list[dict[str, Any]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.asked.append(asked)
                status, body = service.answer(asked)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/querybatch"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def all_well(asked: dict[str, Any]) -> bytes:
        return json.dumps({"results": [{} for _ in asked["queries"]]}).encode()


@pytest.fixture
def osv() -> Iterator[Service]:
    service = Service()
    yield service
    service.server.shutdown()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text(LOCK)
    return file


def look(file: Path, service: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.advisories", str(file), "--service", service]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_every_pin_is_asked_for_once(osv: Service, lock: Path) -> None:
    done = look(lock, osv.url)
    assert done.returncode == 0
    assert "4 packages looked at, 0 with one." in done.stdout
    [asked] = osv.asked
    assert [(q["package"]["name"], q["version"]) for q in asked["queries"]] == PINS
    assert {q["package"]["ecosystem"] for q in asked["queries"]} == {"PyPI"}


def test_a_known_vulnerability_fails_and_is_named(osv: Service, lock: Path) -> None:
    vulnerable = {"vulns": [{"id": "GHSA-xxxx-yyyy-zzzz", "modified": "2026-01-01T00:00:00Z"}]}
    osv.answer = lambda asked: (200, json.dumps({"results": [{}, vulnerable, {}, {}]}).encode())
    done = look(lock, osv.url)
    assert done.returncode == 1
    assert "django 5.2.19: https://osv.dev/vulnerability/GHSA-xxxx-yyyy-zzzz" in done.stdout


@pytest.mark.parametrize(
    "answer",
    [
        lambda asked: (503, b"later"),
        lambda asked: (200, b"<html>log in to the hotel's network</html>"),
        lambda asked: (200, b'{"results": []}'),
        lambda asked: (200, b'{"results": [null, null, null, null]}'),
        lambda asked: (200, b"[]"),
    ],
)
def test_an_answer_that_says_nothing_is_not_taken_for_a_clean_one(
    osv: Service, lock: Path, answer: Answer
) -> None:
    osv.answer = answer
    done = look(lock, osv.url)
    assert done.returncode == 0
    assert "NOT LOOKED AT, all 4 packages" in done.stdout
    assert "looked at, 0" not in done.stdout


def test_without_a_network_it_says_so_and_stops_nobody(lock: Path) -> None:
    done = look(lock, "http://127.0.0.1:1/v1/querybatch")
    assert done.returncode == 0
    assert "NOT LOOKED AT, all 4 packages" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_file_that_pins_nothing_is_no_clean_bill(tmp_path: Path, osv: Service) -> None:
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    done = look(tmp_path / "requirements.txt", osv.url)
    assert done.returncode == 1
    assert osv.asked == []


def test_make_check_looks_at_every_lock_file() -> None:
    assert {*CHECKS["advisories"]} >= {path.name for path in ROOT.glob("requirements*.txt")}
    assert len(pins(ROOT.glob("requirements*.txt"))) > 100
    assert OSV.startswith("https://")
