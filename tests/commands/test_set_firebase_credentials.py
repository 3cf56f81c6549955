"""set_firebase_credentials: checks the file, encrypts it, and switches away from the emulator."""

from __future__ import annotations

import json
import os
import socket
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_project
from tests.servers.fcm import Fcm


@pytest.fixture
def shop(db: None) -> Project:
    return make_project(slug="shop", firebase_project_id="shop-firebase")


@pytest.fixture(scope="session")
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(*pem, serialization.NoEncryption()).decode()


@pytest.fixture
def account(private_key: str, settings: LazySettings) -> dict[str, Any]:
    return {
        "type": "service_account",
        "project_id": "shop-firebase",
        "client_email": "push@shop-firebase.iam.gserviceaccount.com",
        "private_key": private_key,
        "private_key_id": "1",
        "token_uri": settings.GOOGLE_TOKEN_URI,
    }


@pytest.fixture(autouse=True)
def no_google(settings: LazySettings) -> None:
    """A key of Google's is tried at Google; for the tests Google is a door that is closed."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nowhere = f"https://127.0.0.1:{closed.getsockname()[1]}"
    settings.GOOGLE_FCM_ENDPOINT, settings.GOOGLE_TOKEN_URI = nowhere, f"{nowhere}/token"


def give(file: Path, slug: str = "shop") -> str:
    out = StringIO()
    call_command("set_firebase_credentials", str(file), "--project", slug, stdout=out)
    return out.getvalue()


def check(slug: str, *options: str) -> str:
    out = StringIO()
    call_command("set_firebase_credentials", *options, "--project", slug, stdout=out)
    return out.getvalue()


def test_a_good_file_is_encrypted_and_the_project_sends_to_google(
    shop: Project, account: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "key.json"
    file.write_text(json.dumps(account))
    said = give(file)
    assert "sends to FCM as push@shop-firebase" in said
    assert "No token could be obtained" in said  # and it is stored all the same
    assert "PRIVATE KEY" not in said
    shop.refresh_from_db()
    assert not shop.uses_emulator
    kept = ServiceAccount.objects.get()
    assert kept.open() == account
    assert b"PRIVATE KEY" not in bytes(kept.sealed)
    assert "PRIVATE" not in str(AuditEntry.objects.values_list("detail"))


def test_the_emulators_file_keeps_the_project_on_the_emulator(
    shop: Project, account: dict[str, Any], tmp_path: Path, settings: LazySettings
) -> None:
    settings.FCM_TOKEN_URI = account["token_uri"] = "https://127.0.0.1:9099/token"
    Project.objects.update(uses_emulator=False)
    file = tmp_path / "key.json"
    file.write_text(json.dumps(account))
    assert "the FCM emulator" in give(file)
    shop.refresh_from_db()
    assert shop.uses_emulator


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"project_id": "another"}, "belongs to “another”"),
        ({"token_uri": "https://evil.example/token"}, "token_uri: must be"),
        ({"token_uri": ["https://evil.example"]}, "token_uri must be texts"),
        ({"private_key": "cut short"}, "private_key: is not a key"),
        ({"client_email": ""}, "client_email missing"),
        ({"private_key": None}, "private_key must be texts"),
    ],
)
def test_an_account_that_cannot_work_is_refused(
    shop: Project, account: dict[str, Any], tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    file = tmp_path / "key.json"
    file.write_text(json.dumps({**account, **change}))
    with pytest.raises(CommandError, match=words):
        give(file)
    assert not ServiceAccount.objects.exists()
    shop.refresh_from_db()
    assert shop.uses_emulator


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Is not JSON"),
        (b"{", "Is not JSON"),
        (b"\xff\xfe", "Is not JSON"),
        (b"[" * 50_000, "Is not JSON"),
        (b"[]", "not an object"),
        (b" " * 70_000, "Far too large"),
    ],
)
def test_a_file_that_is_no_account_is_refused(
    shop: Project, tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "key.json"
    file.write_bytes(content)
    with pytest.raises(CommandError, match=words):
        give(file)
    assert not ServiceAccount.objects.exists()


def test_a_file_that_is_not_there_is_named(shop: Project, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nothing\.json: cannot be read"):
        give(tmp_path / "nothing.json")
    with pytest.raises(CommandError, match="cannot be read"):
        give(tmp_path)


def test_a_pipe_does_not_hang_the_command(shop: Project, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CommandError, match="not a file"):
        give(tmp_path / "pipe")


def test_the_reply_of_fcm_is_printed_and_can_be_asked_for_again(
    project: Project, fcm: Fcm, tmp_path: Path
) -> None:
    file = tmp_path / "key.json"
    file.write_text(json.dumps(fcm.service_account))
    assert "The key works" in give(file, project.slug)
    assert "The key works" in check(project.slug)
    fcm_was, project.firebase_project_id = project.firebase_project_id, "elsewhere"
    project.save()
    with pytest.raises(CommandError, match=f"belongs to the Firebase project “{fcm_was}”"):
        check(project.slug)


def test_the_machines_credentials_are_used_once_they_work(
    project: Project, fcm: Fcm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "adc.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    with pytest.raises(CommandError, match="no application default credentials"):
        check(project.slug, "--machine")
    project.refresh_from_db()
    assert not project.uses_default_credentials

    file.write_text(json.dumps(fcm.service_account))
    assert "The key works" in check(project.slug, "--machine")
    project.refresh_from_db()
    assert project.uses_default_credentials
    with pytest.raises(CommandError, match="not both"):
        check(project.slug, "--machine", str(file))


def test_an_unknown_project_is_refused_with_those_there_are(shop: Project, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Projects: shop"):
        give(tmp_path / "key.json", "shopp")
