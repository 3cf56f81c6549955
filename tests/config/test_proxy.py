"""HTTPS_PROXY and NO_PROXY, as a process finds them in its environment."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from logging import INFO, WARNING
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery import Celery
from django.conf import LazySettings
from django.core.exceptions import ImproperlyConfigured

from config.boot.proxy import env_no_proxy, env_proxy
from config.celery import say_which_way_messages_take
from notifications.proxy import Proxy
from tests.config.manage_check import ROOT

NAMES = ("HTTPS_PROXY", "https_proxy", "HTTPS_PROXY_FILE", "NO_PROXY", "no_proxy", "TRANSPORT")
COMPANYS = "http://carol:open%2Dsesame@proxy.example:3128"
SAY = """
import django; django.setup()
from django.conf import settings
from notifications.fcm.transport.selection import choose_transport
print(choose_transport(settings.GOOGLE_FCM_ENDPOINT))
"""


@pytest.fixture(autouse=True)
def nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine itself is behind."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def way(**environment: str) -> str:
    """To Google, in the words of the log, of a process that was started with this."""
    done = subprocess.run(
        [sys.executable, "-c", SAY],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


THROUGH = "aiohttp, through the proxy proxy.example:3128"
PASSED_BY = "wire, as TRANSPORT says; the proxy proxy.example:3128 is not used"


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"https_proxy": COMPANYS, "HTTPS_PROXY": "http://another.example:1"}, THROUGH),
        ({"HTTPS_PROXY": COMPANYS, "NO_PROXY": "localhost,.googleapis.com"}, "wire"),
        ({"HTTP_PROXY": COMPANYS, "ALL_PROXY": COMPANYS}, "wire"),
        ({"HTTPS_PROXY": COMPANYS, "TRANSPORT": "wire"}, PASSED_BY),
    ],
)
def test_a_process_takes_the_way_that_it_was_started_with(
    environment: dict[str, str], said: str
) -> None:
    assert way(**environment) == said


@pytest.mark.parametrize(
    ("text", "place", "login"),
    [
        ("http://proxy.example:3128", "proxy.example:3128", ""),
        ("http://proxy.example:3128/", "proxy.example:3128", ""),
        ("proxy.example:3128", "proxy.example:3128", ""),
        ("HTTP://proxy.example", "proxy.example:80", ""),
        ("carol:pass@proxy.example", "proxy.example:80", "Basic Y2Fyb2w6cGFzcw=="),
        ("http://[2001:db8::1]:3128", "[2001:db8::1]:3128", ""),
        ("http://carol@10.1.2.3:80", "10.1.2.3:80", "Basic Y2Fyb2w6"),
        ("http://carol:p%40ss%3A%ED%95%9C@proxy.example:1", "proxy.example:1",
         "Basic Y2Fyb2w6cEBzczrtlZw="),
    ],
)  # fmt: skip
def test_a_proxy_is_named_as_it_is_everywhere(
    monkeypatch: pytest.MonkeyPatch, text: str, place: str, login: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", text)
    proxy = env_proxy("HTTPS_PROXY")
    assert proxy and str(proxy) == place
    assert proxy.headers.get("Proxy-Authorization", "") == login


@pytest.mark.parametrize(
    "text",
    [
        "https://carol:open-sesame@proxy.example:443",
        "socks5://carol:open-sesame@proxy.example:1080",
        "http://carol:open-sesame@proxy.example:many",
        "http://carol:open-sesame@proxy.example:0",
        "http://carol:open-sesame/@proxy.example:3128",
        "http://carol:open-sesame@:3128",
        "http://carol:open-sesame@pro xy.example:3128",
    ],
)
def test_one_that_cannot_be_used_stops_the_start_and_is_not_quoted(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", text)
    with pytest.raises(ImproperlyConfigured, match="HTTPS_PROXY must be http://host") as wrong:
        env_proxy("HTTPS_PROXY")
    assert "sesame" not in "".join(traceback.format_exception(wrong.value))


def test_it_can_come_from_a_file_for_it_may_hold_a_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "proxy").write_text(f"{COMPANYS}\n")
    monkeypatch.setenv("HTTPS_PROXY_FILE", str(tmp_path / "proxy"))
    proxy = env_proxy("HTTPS_PROXY")
    assert str(proxy) == "proxy.example:3128"
    assert "sesame" not in repr(proxy), "nor do Django's pages for developers show it"


def test_small_letters_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "large.example")
    assert env_no_proxy("NO_PROXY") == "large.example"
    monkeypatch.setenv("no_proxy", "small.example")
    assert env_no_proxy("NO_PROXY") == "small.example"


# --- What a worker's log says at its start --------------------------------------------------------


@pytest.mark.parametrize(
    ("queue", "transport", "said"),
    [
        ("bulk", "", (INFO, f"Messages go to FCM over {THROUGH}.")),
        ("urgent", "aiohttp", (INFO, f"Messages go to FCM over {THROUGH}.")),
        ("bulk", "wire", (WARNING, f"Messages go to FCM over {PASSED_BY}.")),
        ("outgoing", "", None),
        ("control", "wire", None),
    ],
)
def test_a_worker_that_sends_says_it_once_and_a_proxy_that_is_passed_by_is_a_warning(
    settings: LazySettings,
    caplog: pytest.LogCaptureFixture,
    queue: str,
    transport: str,
    said: tuple[int, str] | None,
) -> None:
    settings.FCM_ENDPOINT = settings.GOOGLE_FCM_ENDPOINT
    settings.HTTPS_PROXY, settings.NO_PROXY = Proxy(COMPANYS), ""
    settings.TRANSPORT = transport
    with Celery(set_as_current=False) as app:
        app.amqp.queues.select([queue])
        instance = SimpleNamespace(app=app)
        say_which_way_messages_take(instance=instance)
    assert [(each.levelno, each.getMessage()) for each in caplog.records] == [said] * bool(said)
