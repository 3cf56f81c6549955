"""The probe: every way a key can fail, each said in words that name what to do."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from notifications import dispatch, key_check
from notifications.gateway import Permit, Push, Verdict
from notifications.key_check import in_plain_words
from notifications.keys.credentials import ServiceAccount
from notifications.keys.minting import AccountKey
from notifications.people.project import Project
from tests.given.builders import make_project
from tests.given.private_key import another_private_key
from tests.servers.fcm import Fcm


def store(project: Project, info: dict[str, Any]) -> None:
    """As it is stored, without the checks that a person's upload has to pass."""
    account = ServiceAccount.store(project, info)
    assert account.project == project


def answer(code: int, message: str, *details: dict[str, Any], status: str = "") -> bytes:
    error = {"code": code, "message": message, "status": status, "details": list(details)}
    return json.dumps({"error": error}).encode()


def fcm_error(code: str) -> dict[str, str]:
    return {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": code}


def error_info(reason: str) -> dict[str, str]:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}


def test_a_key_that_works_is_said_to_and_nothing_is_sent(project: Project, fcm: Fcm) -> None:
    found = key_check.check_key(project)

    assert (found.ok, found.words) == (
        True,
        "The key works: FCM read a test message. Nothing was sent.",
    )
    assert fcm.witness() == []
    assert fcm.counts()["by_answer"] == {"INVALID_ARGUMENT": 1}


def test_even_an_address_that_lives_gets_nothing(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_check, "MESSAGE", replace(key_check.MESSAGE, address="live1:APA91b"))
    assert key_check.check_key(project).ok
    assert fcm.counts()["by_answer"] == {"VALIDATED": 1}
    assert fcm.witness() == []


def test_a_probe_never_trusts_a_token_that_is_already_there(project: Project, fcm: Fcm) -> None:
    key_check.check_key(project)
    key_check.check_key(project)
    assert fcm.counts()["token_requests"] == 2


def test_a_deleted_key_is_named(project: Project, fcm: Fcm) -> None:
    store(project, {**fcm.service_account, "private_key": another_private_key()})
    found = key_check.check_key(project)
    assert not found.ok
    assert "it was deleted, disabled or revoked" in found.words
    assert "Make a new key" in found.words


def test_a_key_of_another_project_is_named_before_anybody_is_asked(
    project: Project, fcm: Fcm
) -> None:
    project.firebase_project_id = "museum"
    found = key_check.check_key(project)
    assert "belongs to the Firebase project “carillon-demo”" in found.words
    assert fcm.counts()["token_requests"] == 0


def test_a_project_without_a_key_is_told_how_to_get_one(db: None, fcm: Fcm) -> None:
    found = key_check.check_key(make_project())
    assert not found.ok
    assert "set_firebase_credentials" in found.words


def test_an_unreachable_token_endpoint_and_an_unreachable_fcm_are_told_apart(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nowhere = f"https://127.0.0.1:{closed.getsockname()[1]}"
    settings.FCM_ENDPOINT = nowhere
    assert "FCM could not be reached" in key_check.check_key(project).words
    settings.FCM_TOKEN_URI = f"{nowhere}/token"
    store(project, {**fcm.service_account, "token_uri": f"{nowhere}/token"})
    assert "No token could be obtained" in key_check.check_key(project).words


@pytest.mark.parametrize(
    ("http", "body", "words"),
    [
        (403, answer(403, "SenderId mismatch", fcm_error("SENDER_ID_MISMATCH")),
         "belongs to another Firebase project than shop"),
        (403, answer(403, "Firebase Cloud Messaging API has not been used in project 1 before "
         "or it is disabled.", error_info("SERVICE_DISABLED")), "is switched off in shop"),
        (403, answer(403, "Permission 'cloudmessaging.messages.create' denied",
         error_info("IAM_PERMISSION_DENIED")), "Firebase Cloud Messaging API Admin"),
        (403, answer(403, "Request had insufficient authentication scopes.",
         error_info("ACCESS_TOKEN_SCOPE_INSUFFICIENT")), "lack FCM's scope"),
        (403, b"<html>Forbidden", "lacks the permission"),
        (401, answer(401, "Request had invalid authentication credentials."), "Make a new key"),
        (401, b"<html>", "Make a new key"),
        (404, b"<html>404", "no Firebase project “shop”"),
        (404, answer(404, "Requested entity was not found."), "no Firebase project “shop”"),
        (429, answer(429, "Quota exceeded", error_info("RATE_LIMIT_EXCEEDED")), "in a minute"),
        (503, b"", "in a minute"),
        (400, answer(400, "Invalid JSON payload received."), "an unexpected answer"),
        (302, b"", "an unexpected answer"),
    ],
)  # fmt: skip
def test_an_answer_that_does_not_prove_the_key_says_what_to_do(
    http: int, body: bytes, words: str
) -> None:
    found = in_plain_words(key_check.parse_reply(http, body), Project(firebase_project_id="shop"))
    assert not found.ok
    assert words in found.words


@pytest.mark.parametrize(
    ("http", "code"),
    [(400, "INVALID_ARGUMENT"), (404, "UNREGISTERED"), (401, "THIRD_PARTY_AUTH_ERROR")],
)
def test_an_answer_of_fcms_own_about_the_message_proves_the_key(http: int, code: str) -> None:
    reply = key_check.parse_reply(http, answer(http, "whatever", fcm_error(code)))
    assert in_plain_words(reply, Project(firebase_project_id="shop")).ok


# --- The machine's own credentials ---------------------------------------------------------------


@pytest.fixture
def machine(fcm: Fcm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A credentials file where Google's library looks for one, and no cloud beneath us."""
    file = tmp_path / "adc.json"
    file.write_text(json.dumps(fcm.service_account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    return file


def test_a_project_sends_with_the_machines_credentials(db: None, fcm: Fcm, machine: Path) -> None:
    project = make_project(uses_default_credentials=True)
    assert key_check.check_key(project).ok

    message = Push(reference="1:1", kind="token", address="live1:APA91b", platform="web", title="x")
    try:
        gateway = dispatch.gateway_of(project)
        [outcome] = dispatch.dispatch(gateway, [message], Permit(60)).result(timeout=20)
    finally:
        dispatch.close()
    assert outcome.verdict is Verdict.ACCEPTED


def test_a_project_that_changes_to_them_needs_no_restart(
    project: Project, fcm: Fcm, machine: Path
) -> None:
    with_account = dispatch.gateway_of(project)
    project.uses_default_credentials = True
    assert dispatch.gateway_of(project) is not with_account


def test_a_machine_without_credentials_says_so_with_the_ways_to_have_some(
    db: None, machine: Path
) -> None:
    project = make_project(uses_default_credentials=True)
    for spoiled in ("{", '{"type": "unheard_of"}', None):
        machine.unlink() if spoiled is None else machine.write_text(spoiled)
        found = key_check.check_key(project)
        assert not found.ok
        assert "no application default credentials that work" in found.words
        assert "GOOGLE_APPLICATION_CREDENTIALS, or upload a key" in found.words


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch, fcm: Fcm) -> Iterator[list[str]]:
    """A metadata server as Google Cloud has one; what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            assert self.headers["Metadata-Flavor"] == "Google"
            key = AccountKey(fcm.service_account, ca_file=str(fcm.ca_file))
            body = "push@machine.iam.gserviceaccount.com"
            if "/token" in self.path:
                body = json.dumps({"access_token": key.mint().token, "expires_in": 3_599})
            self.send_response(200)
            self.send_header("Metadata-Flavor", "Google")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("GCE_METADATA_HOST", f"127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HOME", "/nonexistent")  # nobody's own log-in with gcloud
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    yield asked
    server.shutdown()
    server.server_close()


def test_the_account_attached_to_a_cloud_machine_is_used(
    db: None, fcm: Fcm, metadata: list[str]
) -> None:
    assert key_check.check_key(make_project(uses_default_credentials=True)).ok
    assert metadata[-1].endswith(
        "/default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Ffirebase.messaging"
    )


def test_a_file_that_cannot_be_used_is_not_replaced_by_the_machines_account(
    db: None, fcm: Fcm, metadata: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nonexistent.json")
    assert not key_check.check_key(make_project(uses_default_credentials=True)).ok
    assert metadata == []
