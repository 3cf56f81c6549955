"""Settings are read strictly: what is wrong stops the start, with its name and the fix."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from tests.config.manage_check import ROOT, check
from tests.servers.forked import Ended


def test_production_passes_djangos_deployment_check_without_a_warning() -> None:
    done = check("--deploy", "--fail-level", "WARNING", CARILLON_ENV="production")
    assert done.returncode == 0, done.said
    assert "no issues" in done.said


def test_staging_is_as_guarded_as_production_and_may_send_to_a_stand_in() -> None:
    stand_in = {"CARILLON_ENV": "staging", "FCM_ENDPOINT": "https://127.0.0.1:9099"}
    done = check("--deploy", "--fail-level", "WARNING", **stand_in)
    assert done.returncode == 0, done.said


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        (
            {"CARILLON_ENV": "prod"},
            "CARILLON_ENV must be one of development, demo, test, staging, production",
        ),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT must be one of text, json"),
        ({"TRANSPORT": "http2"}, "TRANSPORT must be one of wire, aiohttp, not 'http2'"),
        ({"HTTPS_PROXY": "socks5://proxy.example:1080"}, "HTTPS_PROXY must be http://host:port"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"},
            "OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://",
        ),
        ({"DATABASE_URL": "foo"}, "DATABASE_URL must begin with postgresql://"),
        ({"DATABASE_URL": "mysql://h/shop"}, "DATABASE_URL must begin with postgresql://"),
        ({"DATABASE_URL": "postgresql://h:5432"}, "DATABASE_URL must end in a database's name"),
        ({"DATABASE_URL": "postgresql://u:p/w@h/shop"}, "%2F for a slash, %23 for #"),
        ({"WORKERS": "many"}, "WORKERS must be a whole number of at least 1: 'many'"),
        ({"WORKERS": "0"}, "WORKERS must be a whole number of at least 1"),
        ({"DEBUG": "maybe"}, "DEBUG must be true or false"),
        ({"SECRET_KEY_FILE": "/nowhere/key"}, "SECRET_KEY_FILE: cannot read /nowhere/key"),
        ({"PUBLIC_URL": "push.example.com"}, "PUBLIC_URL must be a host and perhaps a port"),
        (
            {"CARILLON_ENV": "production", "PUBLIC_URL": "http://push.example.com"},
            "PUBLIC_URL must begin with https:// in production and staging",
        ),
        (
            {"CARILLON_ENV": "production", "OUTGOING_ALLOWED": "http://127.0.0.1"},
            "OUTGOING_ALLOWED: production and staging send over https:// only. Leave out",
        ),
        (
            {"OUTGOING_ALLOWED": "http://hooks.internal"},
            "only http://127.0.0.1, http://[::1] and http://localhost can be without TLS",
        ),
        (
            {"CARILLON_ENV": "production", "FCM_ENDPOINT": "https://127.0.0.1:9099"},
            "Only a stand-in for FCM needs FCM_ENDPOINT. Unset that when CARILLON_ENV=production",
        ),
        (
            {"CARILLON_ENV": "production", "FCM_CA_FILE": "/own/ca.pem"},
            "Only a stand-in for FCM needs FCM_CA_FILE. Unset that when CARILLON_ENV=production",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_fix(environment: dict[str, str], complaint: str) -> None:
    done = check(**environment)
    assert done.returncode != 0
    assert complaint in done.said


def test_a_secret_can_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("a-key-from-a-file\n")
    assert check(CREDENTIALS_KEY_FILE=str(path), CREDENTIALS_KEY="").returncode == 0


def without(*names: str, **environment: str) -> Ended:
    """`manage.py check` where these are not set."""
    return check(**dict.fromkeys(names, ""), CARILLON_ENV="production", **environment)


KEYS = ("SECRET_KEY", "CREDENTIALS_KEY")


def test_a_process_that_opens_nothing_can_be_left_without_the_keys() -> None:
    done = without(*KEYS, CARILLON_WITHOUT_KEYS="true")
    assert done.returncode == 0, done.said
    refused = without(*KEYS)
    assert "Not set: SECRET_KEY, CREDENTIALS_KEY" in refused.said


@pytest.mark.parametrize("name", KEYS)
def test_keys_and_the_word_that_there_are_none_contradict_each_other(name: str) -> None:
    (other,) = {*KEYS} - {name}
    done = without(other, CARILLON_WITHOUT_KEYS="true", **{name: secrets.token_urlsafe(48)})
    assert done.returncode != 0
    assert f"CARILLON_WITHOUT_KEYS is set, and {name} too. Unset one of them." in done.said


@pytest.mark.parametrize(
    "script",
    ["sealing.seal(b'x', about='y')", "sealing.unseal(b'x' * 40, about='y')", "sealing.key_id()"],
)
def test_without_keys_nothing_is_sealed_with_one_that_anybody_knows(script: str) -> None:
    code = f"import django; django.setup(); from notifications.keys import sealing; {script}"
    theirs = {name: value for name, value in os.environ.items() if name not in KEYS}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**theirs, "DJANGO_SETTINGS_MODULE": "config.settings", "CARILLON_WITHOUT_KEYS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "CARILLON_WITHOUT_KEYS: this process can seal and open nothing" in done.stderr
