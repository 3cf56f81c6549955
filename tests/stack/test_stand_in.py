"""`make run` beside another stand-in for FCM than ours: it is used, and its key is asked for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from config.stack import CHECKOUT, StackError, external_fcm, shared_environment
from config.stack.secret_values import read_assignments
from config.stack.state import claim
from notifications.people.project import Project
from tests.servers.fcm import Fcm
from tests.stack.conftest import bare_environment
from tests.stack.running import RunningStack


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Fcm]:
    """Of another Firebase project, at an address of its own."""
    fcm = Fcm(tmp_path / "theirs")
    yield fcm
    fcm.stop()


def test_it_starts_without_our_emulator_and_says_how_to_give_the_key(
    state: Path, theirs: Fcm, tmp_path: Path
) -> None:
    # On the port our emulator would have taken.
    port = str(urlsplit(theirs.url).port)
    stack = RunningStack(state, EMULATOR_PORT=port, **theirs.environment)
    try:
        stack.read_until("Ctrl-C ends every process")
        shown = "".join(stack.screen)
        assert f"{theirs.url}   (FCM_ENDPOINT: the emulator was not started)" in shown
        assert "manage.py set_firebase_credentials --project demo FILE" in shown
        key = tmp_path / "key.json"
        key.write_text(json.dumps(theirs.service_account))
        given = _manage(state, "set_firebase_credentials", "--project", "demo", str(key))
        assert "The key works" in given
        assert not (state / "emulator" / "ca.pem").exists()
    finally:
        stack.launcher.send_signal(signal.SIGTERM)
        stack.launcher.communicate(timeout=30)


def _manage(state: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=CHECKOUT,
        env=bare_environment(**read_assignments(state / "env")),
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"FCM_ENDPOINT": "https://127.0.0.1:1"}, "set FCM_TOKEN_URI as well"),
        (
            {"FCM_CA_FILE": "/nowhere.pem"},
            "set FCM_ENDPOINT and FCM_TOKEN_URI as well. Or unset FCM_CA_FILE: ",
        ),
        (
            {
                "FCM_ENDPOINT": "https://127.0.0.1:1",
                "FCM_TOKEN_URI": "https://127.0.0.1:1/token",
                "FCM_CA_FILE": "/nowhere.pem",
            },
            "FCM_CA_FILE: there is no file /nowhere.pem.",
        ),
    ],
)
def test_half_of_a_stand_in_is_refused(given: dict[str, str], missing: str) -> None:
    with pytest.raises(StackError, match=missing):
        external_fcm.environment(given)


def test_without_one_our_emulator_plays_fcm(state: Path) -> None:
    with claim(state) as claimed:
        exports = shared_environment.of_a_run(claimed, {}, {"EMULATOR_PORT": 9099})
    assert exports["FCM_ENDPOINT"] == "https://127.0.0.1:9099"
    assert exports["FCM_SERVICE_ACCOUNT_FILE"].endswith("service-account.json")


@pytest.mark.django_db
class TestDemo:
    """What `make run` has filled, by `manage.py demo`."""

    def make(self) -> str:
        out = StringIO()
        call_command("demo", "--contacts", "10", stdout=out)
        return out.getvalue()

    def test_a_key_of_another_project_makes_the_demo_that_project(
        self, fcm: Fcm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = tmp_path / "key.json"
        key.write_text(json.dumps(fcm.wrong_account))
        monkeypatch.setenv("FCM_SERVICE_ACCOUNT_FILE", str(key))
        assert "no key yet" not in self.make()
        demo = Project.objects.get(slug="demo")
        assert demo.firebase_project_id == fcm.wrong_account["project_id"] != "carillon-demo"
        assert demo.service_account.client_email == fcm.wrong_account["client_email"]

    def test_without_a_key_the_next_step_is_said(
        self, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("FCM_SERVICE_ACCOUNT_FILE", raising=False)
        settings.FCM_ENDPOINT = "https://fcm.example.com"
        said = self.make()
        assert "no key yet" in said and "https://fcm.example.com knows" in said
        assert "manage.py set_firebase_credentials --project demo FILE" in said

    def test_a_key_for_elsewhere_is_refused_in_a_sentence(
        self, fcm: Fcm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = tmp_path / "key.json"
        elsewhere = {**fcm.service_account, "token_uri": "https://elsewhere.example/token"}
        key.write_text(json.dumps(elsewhere))
        monkeypatch.setenv("FCM_SERVICE_ACCOUNT_FILE", str(key))
        with pytest.raises(CommandError, match="FCM_SERVICE_ACCOUNT_FILE: token_uri: must be"):
            self.make()
        assert not Project.objects.exists()
