"""Machines call by whatever name they have; the numbers are not for everybody."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.conf import LazySettings
from django.test import Client

from notifications.requests.origin import INSIDE

pytestmark = pytest.mark.django_db
BY_IP = {"host": "10.1.2.3:8000"}


@pytest.mark.parametrize("host", ["10.1.2.3:8000", "web", "web.carillon.svc:8000", "[fd00::7]", ""])
@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_is_answered_whatever_name_it_calls(client: Client, path: str, host: str) -> None:
    assert client.get(path, headers={"host": host}).status_code in (200, 503)


def test_a_page_is_opened_by_its_own_name_alone(client: Client) -> None:
    assert client.get("/admin/login/", headers=BY_IP).status_code == 400


PRODUCTION = """
import config.wsgi
from django.test import Client
print([Client().get(path, headers={"host": "10.1.2.3"}).status_code for path in PATHS])
"""


def test_where_it_is_served_a_probe_is_not_sent_to_https() -> None:
    served = {**os.environ, "CARILLON_ENV": "production"}
    for name in ("FCM_ENDPOINT", "FCM_TOKEN_URI", "FCM_CA_FILE"):
        served.pop(name, None)
    script = PRODUCTION.replace("PATHS", '("/healthz", "/metrics", "/")')
    done = subprocess.run(
        [sys.executable, "-c", script], env=served, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[200, 403, 400]", done.stderr


# --- Who may read the numbers --------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    [
        {"REMOTE_ADDR": "10.0.0.9"},
        {"REMOTE_ADDR": ""},
        {"HTTP_X_FORWARDED_FOR": "203.0.113.7"},
        {"HTTP_FORWARDED": "for=203.0.113.7"},
    ],
)
def test_nobody_from_elsewhere_reads_the_numbers(client: Client, where: dict[str, str]) -> None:
    refusal = client.get("/metrics", **where)  # type: ignore[arg-type]
    assert refusal.status_code == 403
    assert "Set METRICS_PORT, or METRICS_TOKEN" in refusal.content.decode()


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "10.1.2.3", "", "localhost.e.x"]
)
def test_a_page_under_a_name_of_its_own_reads_no_numbers(client: Client, host: str) -> None:
    """Its name points to this machine now, so that a browser calls from here and lets it read."""
    refusal = client.get("/metrics", headers={"host": host})
    assert refusal.status_code == 403
    assert "carillon_runs" not in refusal.content.decode()


@pytest.mark.parametrize(
    "host",
    ["localhost:8000", "LOCALHOST", "127.0.0.1:8000", "127.1.2.3", "[::1]:8000", "our.example"],
)
def test_at_the_keyboard_our_own_names_have_the_numbers(
    client: Client, settings: LazySettings, host: str
) -> None:
    settings.ALLOWED_HOSTS = ["our.example"]
    assert "carillon_runs" in client.get("/metrics", headers={"host": host}).content.decode()


def test_where_it_is_served_a_proxy_on_the_same_machine_is_nobody_special(
    client: Client, settings: LazySettings
) -> None:
    settings.SERVED = True
    assert client.get("/metrics").status_code == 403


def test_the_public_port_names_the_port_that_has_them(
    client: Client, settings: LazySettings
) -> None:
    settings.SERVED, settings.METRICS_PORT = True, 9464
    refusal = client.get("/metrics")
    assert refusal.status_code == 403
    assert "Port 9464 has the numbers" in refusal.content.decode()


@pytest.mark.parametrize("shown", ["", "Bearer ", "Bearer wrong", "Basic s3cret", "s3cret", "é"])
def test_a_wrong_token_is_refused_at_the_keyboard_too(
    client: Client, settings: LazySettings, shown: str
) -> None:
    settings.METRICS_TOKEN = "s3cret"
    refusal = client.get("/metrics", headers={"authorization": shown})
    assert refusal.status_code == 401
    assert refusal["WWW-Authenticate"] == "Bearer"
    assert "carillon_runs" not in refusal.content.decode()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_the_token_opens_the_numbers(client: Client, settings: LazySettings, scheme: str) -> None:
    settings.SERVED, settings.METRICS_TOKEN = True, "s3cret"
    answer = client.get("/metrics", headers={"authorization": f"{scheme} s3cret", **BY_IP})
    assert answer.status_code == 200
    assert "carillon_runs" in answer.content.decode()


# --- The port of their own -----------------------------------------------------------------------


def test_inside_the_numbers_need_no_token_and_nothing_else_is_there(
    client: Client, settings: LazySettings
) -> None:
    settings.SERVED, settings.METRICS_TOKEN = True, "s3cret"
    inside = {INSIDE: True, "REMOTE_ADDR": "10.0.0.9"}
    assert client.get("/metrics", headers=BY_IP, **inside).status_code == 200  # type: ignore[arg-type]
    assert client.get("/healthz", headers=BY_IP, **inside).status_code == 200  # type: ignore[arg-type]
    for path in ("/admin/login/", "/api/v1/runs", "/"):
        assert client.get(path, headers=BY_IP, **inside).status_code == 404  # type: ignore[arg-type]
    assert client.get("/metrics", headers={INSIDE: "True"}).status_code == 401, "no header does it"
