"""While servers are away, a stranger learns that, and not where they are nor what runs there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.config.manage_check import FCM

AWAY = {
    "DATABASE_URL": "postgresql://innkeeper:sesame-one@127.0.0.1:1/cellar",
    "REDIS_URL": "redis://:sesame-two@127.0.0.1:2/0",
}
NOBODYS_BUSINESS = (
    *("innkeeper", "sesame", "cellar", "127.0.0.1", "port 1", ":6379", "Errno", "Error 111"),
    *("psycopg", "OperationalError", "ConnectionError", "refused", "Traceback", "django"),
    *("/site-packages", ".py", "ALLOWED_HOSTS", "DATA_UPLOAD"),
)
ASK = """
import json, config.wsgi
from django.test import Client
def ask(method, path, **more):
    said = Client(raise_request_exception=False).generic(method, path, secure=True, **more)
    body = b"".join(said) if said.streaming else said.content
    return said.status_code, repr(dict(said.headers)) + body.decode()
key = {"HTTP_AUTHORIZATION": "Bearer car_aaaaaaaa_" + "b" * 43}
login = {"data": "username=ada&password=x", "content_type": "application/x-www-form-urlencoded"}
print(json.dumps({
    "ready": ask("GET", "/readyz"),
    "login page": ask("GET", "/admin/login/"),
    "login": ask("POST", "/admin/login/", **login),
    "page": ask("GET", "/admin/", HTTP_COOKIE="sessionid=abcdefgh"),
    "api": ask("GET", "/api/v1/runs", **key),
    "api without a key": ask("GET", "/api/v1/runs"),
    "api, nowhere": ask("GET", "/api/v1/nowhere"),
    "page, nowhere": ask("GET", "/nowhere"),
    "static, nowhere": ask("GET", "/static/../../etc/passwd"),
    "another host": ask("GET", "/admin/", HTTP_HOST="evil.example"),
    "another host, api": ask("GET", "/api/v1/runs", HTTP_HOST="evil.example", **key),
    "numbers": ask("GET", "/metrics"),
}))
"""


@pytest.fixture(scope="module")
def asked() -> tuple[dict[str, Any], str]:
    """Each answer as (status, headers and body), and the log."""
    mine = {name: value for name, value in os.environ.items() if name not in FCM}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**mine, **AWAY, "CARILLON_ENV": "demo", "ALLOWED_HOSTS": "testserver"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_no_answer_says_where_a_server_is_or_what_its_driver_said(
    asked: tuple[dict[str, Any], str],
) -> None:
    answers, _ = asked
    told = {
        name: [word for word in NOBODYS_BUSINESS if word.lower() in said.lower()]
        for name, (_, said) in answers.items()
    }
    assert {name: words for name, words in told.items() if words} == {}


def test_readyz_says_what_is_down(asked: tuple[dict[str, Any], str]) -> None:
    status, said = asked[0]["ready"]
    assert status == 503
    for part in ("postgresql", "redis", "beat"):
        assert f'"{part}": "no answer"' in said


def test_the_log_says_where_and_why_and_no_password(asked: tuple[dict[str, Any], str]) -> None:
    _, log = asked
    assert "not ready: postgresql: OperationalError" in log
    assert "not ready: redis: ConnectionError" in log
    assert "port 1 failed" in log and "127.0.0.1:2" in log
    assert "sesame" not in log
