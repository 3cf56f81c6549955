from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import transport
from google.oauth2 import service_account

from tests.emulator.running import GRANT_TYPE, SCOPE, RunningEmulator
from tests.given.waiting import eventually

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
DRIVE = "https://www.googleapis.com/auth/drive"


class Transport(transport.Request):
    """google-auth's door to the network, through the emulator's authority."""

    def __init__(self, emulator: RunningEmulator) -> None:
        self._emulator = emulator

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: Any = None,
        headers: Any = None,
        timeout: Any = None,
        **options: Any,
    ) -> Any:
        response = self._emulator.ask(method, url.removeprefix(self._emulator.url), body, headers)
        return SimpleNamespace(
            status=response.status, headers=response.headers, data=response.text.encode()
        )


def reason(response: Any) -> str:
    found: str = response.json["error"]["details"][0]["reason"]
    return found


def test_google_auth_gets_a_token_that_sends(emulator: RunningEmulator) -> None:
    credentials = service_account.Credentials.from_service_account_info(
        emulator.account, scopes=[SCOPE]
    )
    credentials.refresh(Transport(emulator))
    assert emulator.send({"token": "a"}, token=credentials.token).status == 200


def test_a_token_lives_for_an_hour_and_is_opaque(emulator: RunningEmulator) -> None:
    answer = emulator.exchange(emulator.assertion()).json
    assert (answer["expires_in"], answer["token_type"]) == (3600, "Bearer")
    assert answer["access_token"].startswith("ya29.")
    assert emulator.account["client_email"] not in answer["access_token"]


def test_the_token_endpoint_of_older_libraries_is_there_as_well(
    emulator: RunningEmulator,
) -> None:
    assertion = emulator.assertion(aud="https://www.googleapis.com/oauth2/v4/token")
    form = urlencode({"grant_type": GRANT_TYPE, "assertion": assertion})
    assert "access_token" in emulator.ask("POST", "/oauth2/v4/token", form).json


def test_its_own_address_is_an_audience_too(emulator: RunningEmulator) -> None:
    assert emulator.token(aud=emulator.account["token_uri"])


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"iss": "stranger@example.com"}, "invalid_grant", "account not found"),
        ({"aud": "https://example.com/token"}, "invalid_grant", "audience"),
        ({"exp": 2**31}, "invalid_grant", "short-lived"),
        ({"iat": 1000, "exp": 2000}, "invalid_grant", "short-lived"),
        ({"iat": "soon"}, "invalid_grant", "short-lived"),
        ({"scope": ""}, "invalid_scope", "scope"),
        ({"scope": "everything"}, "invalid_scope", "scope"),
    ],
)
def test_a_wrong_claim_gets_no_token(
    emulator: RunningEmulator, changed: dict[str, Any], error: str, words: str
) -> None:
    refused = emulator.exchange(emulator.assertion(**changed))
    assert refused.status == 400
    assert refused.json["error"] == error
    assert words in refused.json["error_description"]


def test_an_assertion_from_the_future_gets_no_token(emulator: RunningEmulator) -> None:
    later = int(time.time()) + 600
    refused = emulator.exchange(emulator.assertion(iat=later, exp=later + 60))
    assert refused.json["error"] == "invalid_grant"


def test_another_key_gets_no_token(emulator: RunningEmulator) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    honest = emulator.account
    emulator.account = honest | {"private_key": pem.decode()}
    try:
        refused = emulator.exchange(emulator.assertion())
    finally:
        emulator.account = honest
    assert refused.json["error_description"] == "Invalid JWT Signature."


@pytest.mark.parametrize(
    "assertion", ["", "a.b.c", "nonsense", "e30.e30.", "bnVsbA.bnVsbA.", "é.é.é"]
)
def test_garbage_gets_no_token(emulator: RunningEmulator, assertion: str) -> None:
    assert emulator.exchange(assertion).status == 400


def test_another_grant_type_gets_no_token(emulator: RunningEmulator) -> None:
    refused = emulator.exchange(emulator.assertion(), grant_type="password")
    assert refused.json["error"] == "unsupported_grant_type"


def test_every_question_for_a_token_is_counted(emulator: RunningEmulator) -> None:
    emulator.token()
    emulator.token()
    emulator.exchange("nonsense")
    counts = emulator.counts()
    assert (counts["token_requests"], counts["tokens_issued"]) == (3, 2)


def test_a_send_without_a_token_is_refused_by_the_front_end(emulator: RunningEmulator) -> None:
    refused = emulator.ask("POST", "/v1/projects/carillon-demo/messages:send", "{}")
    assert (refused.status, reason(refused)) == (401, "CREDENTIALS_MISSING")
    assert refused.error_codes == []
    assert "WWW-Authenticate" in refused.headers


def test_an_unknown_token_counts_as_expired(emulator: RunningEmulator) -> None:
    refused = emulator.send({"token": "a"}, token="ya29.made-up")
    assert (refused.status, reason(refused)) == (401, "ACCESS_TOKEN_EXPIRED")


def test_a_revoked_token_is_refused_and_a_new_one_works(emulator: RunningEmulator) -> None:
    token = emulator.token()
    assert emulator.ask("POST", "/admin/revoke").json["revoked"] >= 1
    assert emulator.send({"token": "a"}, token=token).status == 401
    assert emulator.send({"token": "a"}).status == 200


def test_a_token_expires(emulator: RunningEmulator) -> None:
    emulator.settings(token_seconds=0.2)
    token = emulator.token()
    assert emulator.send({"token": "a"}, token=token).status == 200
    eventually(
        "the token expires", lambda: emulator.send({"token": "a"}, token=token).status != 200
    )
    assert reason(emulator.send({"token": "a"}, token=token)) == "ACCESS_TOKEN_EXPIRED"


def test_a_token_is_for_its_own_project_only(emulator: RunningEmulator) -> None:
    refused = emulator.send({"token": "a"}, project="somebody-elses")
    assert (refused.status, reason(refused)) == (403, "IAM_PERMISSION_DENIED")
    assert refused.error_codes == []


def test_another_of_googles_scopes_does_not_send(emulator: RunningEmulator) -> None:
    refused = emulator.send({"token": "a"}, token=emulator.token(scope=DRIVE))
    assert (refused.status, reason(refused)) == (403, "ACCESS_TOKEN_SCOPE_INSUFFICIENT")


def test_the_wide_scope_sends(emulator: RunningEmulator) -> None:
    assert emulator.send({"token": "a"}, token=emulator.token(scope=CLOUD_PLATFORM)).status == 200
