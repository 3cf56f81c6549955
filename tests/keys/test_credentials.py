"""Service accounts at rest: sealed, opened with any of our keys, and sealed anew with the first."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import LazySettings
from django.core.exceptions import ValidationError

from notifications import dispatch
from notifications.gateway import BadCredentials
from notifications.keys import credentials, sealing
from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from tests.given.builders import make_project
from tests.servers.fcm import Fcm


def elliptic_key() -> str:
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(*pem, serialization.NoEncryption()).decode()


def test_an_account_is_sealed_anew_with_the_first_key_and_its_gateway_stays(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    gateway = dispatch.gateway_of(project)
    before = ServiceAccount.objects.get()
    settings.CREDENTIALS_KEY = f"brand new,{settings.CREDENTIALS_KEY}"

    assert before.open() == fcm.service_account

    after = ServiceAccount.objects.get()
    assert (after.sealed_with, before.sealed_with) == (sealing.key_id(),) * 2
    assert (after.sealed, after.stored_at) == (before.sealed, before.stored_at)
    assert dispatch.gateway_of(project) is gateway
    settings.CREDENTIALS_KEY = "brand new"
    assert after.open() == fcm.service_account


def test_an_account_stored_while_an_old_one_was_opened_stays(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    slow = ServiceAccount.objects.get()
    settings.CREDENTIALS_KEY = f"brand new,{settings.CREDENTIALS_KEY}"
    newer = {**fcm.service_account, "private_key_id": "2"}
    ServiceAccount.store(project, newer)

    slow.open()

    assert ServiceAccount.objects.get().open() == newer


def test_a_key_chosen_with_a_comma_in_it_still_opens(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    settings.CREDENTIALS_KEY = "tick, tock"
    whole = sealing.seal(b"secret", about="x")
    assert sealing.unseal(whole, about="x") == b"secret"
    settings.CREDENTIALS_KEY = "another"
    with pytest.raises(sealing.Unsealable):
        sealing.unseal(whole, about="x")


def test_what_was_sealed_for_one_project_does_not_open_for_another(
    project: Project, fcm: Fcm
) -> None:
    other = make_project()
    ServiceAccount.objects.update(project=other)
    with pytest.raises(BadCredentials, match="encrypted with another CREDENTIALS_KEY"):
        ServiceAccount.objects.get().open()


def test_a_lost_sealing_key_is_named_with_the_ways_out(
    project: Project, settings: LazySettings
) -> None:
    settings.CREDENTIALS_KEY = "forgotten"
    with pytest.raises(BadCredentials, match=r"Add that key .* after a comma, or upload"):
        dispatch.gateway_of(project)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"project_id": "another"}, "belongs to “another”.*Give that project's key"),
        ({"token_uri": "https://evil.example/token"}, "token_uri: must be .*Download"),
        ({"token_uri": ["https://evil.example"]}, "token_uri must be texts"),
        ({"token_uri": "http://oauth2.googleapis.com/token"}, "token_uri: must be"),
        ({"private_key": "-----BEGIN PRIVATE KEY-----\nMIIE"}, "was it cut short"),
        ({"private_key": "\ud800"}, "was it cut short"),
        ({"private_key": 12}, "private_key must be texts"),
        ({"private_key": "x" * 20_000}, "private_key missing"),
        ({"client_email": ""}, "client_email missing"),
        ({"client_email": "a\0@b"}, "is not an account's address"),
        ({"type": "authorized_user"}, "type: must be “service_account”"),
        ({"type": None}, "type: must be “service_account”"),
        ({"project_info": {}, "client": []}, "google-services.json"),
    ],
)
def test_an_account_that_cannot_work_is_refused_with_the_remedy(
    project: Project, fcm: Fcm, change: dict[str, Any], words: str
) -> None:
    stored = ServiceAccount.objects.get().sealed
    with pytest.raises(ValidationError, match=words) as refusal:
        credentials.use(project, {**fcm.service_account, **change})
    assert fcm.service_account["private_key"][40:80] not in str(refusal.value)
    assert ServiceAccount.objects.get().sealed == stored


def test_a_key_of_another_kind_is_refused(project: Project, fcm: Fcm) -> None:
    with pytest.raises(ValidationError, match="must be an RSA key"):
        credentials.check({**fcm.service_account, "private_key": elliptic_key()}, project)


def test_in_production_only_googles_token_uri_is_allowed(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    settings.FCM_TOKEN_URI = settings.GOOGLE_TOKEN_URI  # config refuses anything else there
    with pytest.raises(ValidationError) as refusal:
        credentials.check(fcm.service_account, project)
    assert "token_uri: must be https://oauth2.googleapis.com/token, not" in str(refusal.value)


@pytest.mark.parametrize("part", [1, 100, 1_000, 2_000])
def test_a_file_cut_short_is_refused_without_a_word_of_its_content(fcm: Fcm, part: int) -> None:
    text = json.dumps(fcm.service_account)[:part]
    with pytest.raises(ValidationError, match="only a part of it") as refusal:
        credentials.parse(text)
    assert refusal.value.__cause__ is None
    assert "PRIVATE" not in str(refusal.value)


def test_the_emulators_key_sends_to_the_emulator_and_a_google_one_to_google(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    Project.objects.update(uses_emulator=False, uses_default_credentials=True)
    credentials.use(project, fcm.service_account)
    project.refresh_from_db()
    assert (project.uses_emulator, project.uses_default_credentials) == (True, False)

    credentials.use(project, {**fcm.service_account, "token_uri": settings.GOOGLE_TOKEN_URI})
    project.refresh_from_db()
    assert not project.uses_emulator
