"""A service account's file cannot make us ask, or run, anything but Google's token endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from notifications.keys import credentials
from notifications.keys.credentials import ServiceAccount
from notifications.keys.minting import AccountKey
from notifications.people.project import Project
from tests.given.trap import Trap
from tests.servers.fcm import Fcm

GOOGLES = "https://oauth2.googleapis.com/token"
HOSTILE = (
    "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token",
    "http://127.0.0.1:{port}/token",
    "https://127.0.0.1:{port}/token",
    "https://[::1]:{port}/token",
    "https://oauth2.googleapis.com@127.0.0.1:{port}/token",
    "https://oauth2.googleapis.com.evil.example/token",
    "https://oauth2.googleapis.com/token#@127.0.0.1:{port}",
    "https://oauth2.googleapis.com/token/../../elsewhere",
    "http://oauth2.googleapis.com/token",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_FLUSHALL",
    "  https://oauth2.googleapis.com/token\n",
)
CREDENTIALS_THAT_RUN_OR_FETCH = (
    {"type": "external_account", "credential_source": {"url": "http://127.0.0.1:{port}/"}},
    {"type": "external_account", "credential_source": {"executable": {"command": "touch /tmp/x"}}},
    {"type": "external_account", "credential_source": {"file": "/etc/passwd"}},
    {"type": "impersonated_service_account",
     "service_account_impersonation_url": "http://127.0.0.1:{port}/"},
    {"type": "authorized_user", "refresh_token": "x"},
    {"type": "gdch_service_account", "token_uri": "http://127.0.0.1:{port}/"},
)  # fmt: skip


@pytest.fixture
def trap() -> Iterator[Trap]:
    trap = Trap()
    yield trap
    trap.server.close()


@pytest.fixture
def owner(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada", "a@example.com", "a long pass phrase"))
    return client


def try_every_door(owner: Client, project: Project, info: dict[str, Any], file: Path) -> list[str]:
    """What each of them says."""
    file.write_text(json.dumps(info))
    said = []
    with pytest.raises(ValidationError) as refused:
        credentials.use(project, info)
    said.append(str(refused.value))
    with pytest.raises(CommandError) as stopped:
        call_command(
            "set_firebase_credentials", str(file), "--project", project.slug, stdout=StringIO()
        )
    said.append(str(stopped.value))
    url = reverse("admin:notifications_project_set_credentials", args=[project.pk])
    reply = owner.post(url, {"_form_submitted": "on", "key": json.dumps(info)})
    said.append(reply.content.decode())
    assert reply.status_code in (200, 422)
    return said


@pytest.mark.parametrize("uri", HOSTILE)
def test_a_token_uri_that_points_elsewhere_is_refused_at_every_door(
    uri: str,
    project: Project,
    fcm: Fcm,
    owner: Client,
    trap: Trap,
    settings: LazySettings,
    tmp_path: Path,
) -> None:
    settings.FCM_TOKEN_URI = GOOGLES  # as production insists
    before = ServiceAccount.objects.get().sealed
    info = {**fcm.service_account, "token_uri": trap.named_in(uri)}

    said = try_every_door(owner, project, info, tmp_path / "key.json")

    assert all("token_uri" in each for each in said)
    assert ServiceAccount.objects.get().sealed == before
    assert trap.visitors == []


@pytest.mark.parametrize("other", CREDENTIALS_THAT_RUN_OR_FETCH, ids=lambda each: str(each["type"]))
def test_credentials_of_a_kind_that_runs_or_fetches_something_are_refused(
    other: dict[str, Any],
    project: Project,
    fcm: Fcm,
    owner: Client,
    trap: Trap,
    tmp_path: Path,
) -> None:
    before = ServiceAccount.objects.get().sealed
    info = {**fcm.service_account, **trap.named_in(other)}

    said = try_every_door(owner, project, info, tmp_path / "key.json")

    assert all("type: must be" in each for each in said)
    assert ServiceAccount.objects.get().sealed == before
    assert trap.visitors == []


def test_other_addresses_in_the_file_are_never_asked(fcm: Fcm, trap: Trap) -> None:
    address = f"http://127.0.0.1:{trap.port}/"
    others = ("auth_uri", "auth_provider_x509_cert_url", "client_x509_cert_url", "quota_project_id")
    info = {**fcm.service_account, **dict.fromkeys(others, address)}
    AccountKey(info, ca_file=str(fcm.ca_file)).mint()
    assert fcm.counts()["token_requests"] == 1
    assert trap.visitors == []


@pytest.mark.parametrize("domain", ["evil.example", "127.0.0.1", "", None])
def test_a_file_cannot_name_another_universe_of_googles(
    domain: str | None, fcm: Fcm, project: Project, owner: Client, tmp_path: Path
) -> None:
    info = {**fcm.service_account, "universe_domain": domain}
    said = try_every_door(owner, project, info, tmp_path / "key.json")
    assert all("universe_domain: must be googleapis.com" in each for each in said)


def test_googles_own_universe_is_taken(fcm: Fcm, project: Project) -> None:
    credentials.check({**fcm.service_account, "universe_domain": "googleapis.com"}, project)
