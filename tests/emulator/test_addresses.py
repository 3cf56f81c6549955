from __future__ import annotations

import http.client
import json
import select
from typing import Any

import pytest

from tests.emulator.running import Response, RunningEmulator
from tests.given.waiting import eventually

KINDS = pytest.mark.parametrize("kind", ["token", "fid"])


def send(emulator: RunningEmulator, address: str, message_id: str = "1:1") -> Response:
    return emulator.send({"token": address, "data": {"carillon_id": message_id}})


def asked(emulator: RunningEmulator, address: str) -> http.client.HTTPSConnection:
    """A connection with a send request on its way, and nothing read yet."""
    token = emulator.token()
    connection = http.client.HTTPSConnection("127.0.0.1", emulator.port, context=emulator.tls)
    connection.request(
        "POST",
        "/v1/projects/carillon-demo/messages:send",
        json.dumps({"message": {"token": address}}),
        {"Authorization": f"Bearer {token}"},
    )
    return connection


def detail(response: Response, kind: str) -> dict[str, Any]:
    """One kind of detail of an error, such as ApnsError."""
    details = response.json["error"]["details"]
    found: dict[str, Any] = next(each for each in details if each["@type"].endswith(kind))
    return found


@KINDS
def test_any_other_address_is_a_live_device(emulator: RunningEmulator, kind: str) -> None:
    assert emulator.send({kind: "dQw4w9:APA91b-dead-or-alive"}).status == 200
    assert emulator.witnessed()[0]["kind"] == kind


@KINDS
@pytest.mark.parametrize(
    ("address", "status", "canonical", "code"),
    [
        ("dead-1", 404, "NOT_FOUND", "UNREGISTERED"),
        ("malformed-1", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        ("foreign-1", 403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
        ("thirdparty-1", 401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
    ],
)
def test_an_address_that_is_refused_stays_refused(
    emulator: RunningEmulator, kind: str, address: str, status: int, canonical: str, code: str
) -> None:
    for _ in range(2):
        refused = emulator.send({kind: address})
        assert (refused.status, refused.error_codes) == (status, [code])
        assert refused.json["error"]["status"] == canonical
    assert emulator.counts()["by_answer"] == {code: 2}
    assert emulator.witnessed() == []


def test_a_malformed_address_names_the_token_as_the_field(emulator: RunningEmulator) -> None:
    violations = detail(send(emulator, "malformed-1"), "BadRequest")["fieldViolations"]
    assert [violation["field"] for violation in violations] == ["message.token"]


def test_a_bad_apns_key_shows_apples_own_error(emulator: RunningEmulator) -> None:
    apns = detail(send(emulator, "thirdparty-1"), "ApnsError")
    assert (apns["statusCode"], apns["reason"]) == (403, "InvalidProviderToken")


@pytest.mark.parametrize(
    ("address", "status", "code", "retry_after"),
    [
        ("flaky-1", 503, "UNAVAILABLE", "2"),
        ("throttled-1", 429, "QUOTA_EXCEEDED", "2"),
        ("broken-1", 500, "INTERNAL", None),
    ],
)
def test_a_passing_trouble_meets_only_the_first_request_of_a_message(
    emulator: RunningEmulator, address: str, status: int, code: str, retry_after: str | None
) -> None:
    first = send(emulator, address, "1:1")
    assert (first.status, first.error_codes) == (status, [code])
    assert first.headers.get("Retry-After") == retry_after
    assert send(emulator, address, "1:1").status == 200
    assert send(emulator, address, "1:2").status == status
    assert [record["id"] for record in emulator.witnessed()] == ["1:1"]


def test_a_message_without_an_id_is_known_by_its_address(emulator: RunningEmulator) -> None:
    assert [emulator.send({"token": "flaky-1"}).status for _ in range(3)] == [503, 200, 200]


def test_a_reset_forgets_which_messages_had_their_first_request(emulator: RunningEmulator) -> None:
    assert send(emulator, "flaky-1").status == 503
    emulator.ask("POST", "/admin/reset")
    assert send(emulator, "flaky-1").status == 503


def test_a_lost_answer_was_accepted_all_the_same(emulator: RunningEmulator) -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        send(emulator, "lost-1")
    assert [record["repeat"] for record in emulator.witnessed()] == [1]
    assert send(emulator, "lost-1").status == 200
    assert [record["repeat"] for record in emulator.witnessed()] == [1, 2]
    assert emulator.counts()["by_answer"] == {"LOST": 1, "ACCEPTED": 1}


def test_a_reset_connection_accepted_nothing(emulator: RunningEmulator) -> None:
    connection = asked(emulator, "reset-1")
    # Python's TLS reads a reset as an end, so ask the kernel: only a real RST is an error to it.
    watch = select.poll()
    watch.register(connection.sock, 0)
    [(_, event)] = watch.poll(10_000)
    connection.close()
    assert event & select.POLLERR
    assert emulator.witnessed() == []
    assert emulator.send({"token": "reset-1"}).status == 200


def test_a_silent_address_keeps_the_connection_and_accepts_nothing(
    emulator: RunningEmulator,
) -> None:
    connection = asked(emulator, "hang-1")
    eventually("it is on its way", lambda: emulator.counts()["in_flight"])
    assert emulator.counts()["by_answer"] == {"SILENCE": 1}
    assert emulator.witnessed() == []
    connection.close()
    eventually("who gave up is out of the flight", lambda: not emulator.counts()["in_flight"])


def test_a_slow_address_is_accepted_in_the_end(emulator: RunningEmulator) -> None:
    assert send(emulator, "slow-1").status == 200
    assert len(emulator.witnessed()) == 1


# --- what Apple says, behind FCM's back


@pytest.mark.parametrize(
    ("address", "status", "code", "apns"),
    [
        ("deadios-1", 404, "UNREGISTERED", (410, "Unregistered")),
        ("disabledios-1", 400, "INVALID_ARGUMENT", (410, "Unregistered")),
        ("badios-1", 400, "INVALID_ARGUMENT", (400, "BadDeviceToken")),
        ("wrongenv-1", 401, "THIRD_PARTY_AUTH_ERROR", (403, "BadEnvironmentKeyInToken")),
    ],
)
def test_an_ios_address_carries_apples_verdict(
    emulator: RunningEmulator, address: str, status: int, code: str, apns: tuple[int, str]
) -> None:
    refused = send(emulator, address)
    assert (refused.status, refused.error_codes) == (status, [code])
    error = detail(refused, "ApnsError")
    assert (error["statusCode"], error["reason"]) == apns


# --- devices that register anew


def test_a_moving_device_takes_one_message_and_is_dead_from_then_on(
    emulator: RunningEmulator,
) -> None:
    statuses = [send(emulator, "moving-1", f"1:{n}").status for n in range(3)]
    assert statuses == [200, 404, 404]
    assert [record["id"] for record in emulator.witnessed()] == ["1:0"]


@pytest.mark.parametrize("kind", ["fid", "token"])
def test_an_installation_is_known_by_one_kind_of_target_only(
    emulator: RunningEmulator, kind: str
) -> None:
    other = {"fid": "token", "token": "fid"}[kind]
    assert emulator.send({kind: f"{kind}only-1"}).status == 200
    assert emulator.send({other: f"{kind}only-1"}).error_codes == ["UNREGISTERED"]


# --- the other project


def test_the_wrong_account_gets_a_token_that_cannot_send_for_this_project(
    emulator: RunningEmulator,
) -> None:
    refused = emulator.send({"token": "a"}, token=emulator.wrong_token())
    assert (refused.status, refused.error_codes) == (403, [])
    assert detail(refused, "ErrorInfo")["reason"] == "IAM_PERMISSION_DENIED"


@pytest.mark.parametrize(
    ("address", "status"), [("a", 403), ("dead-1", 403), ("malformed-1", 400), ("other-1", 200)]
)
def test_for_its_own_project_it_finds_none_of_these_devices(
    emulator: RunningEmulator, address: str, status: int
) -> None:
    sent = emulator.send({"token": address}, token=emulator.wrong_token(), project="carillon-other")
    assert sent.status == status
    if status == 403:
        assert sent.error_codes == ["SENDER_ID_MISMATCH"]
    assert len(emulator.witnessed()) == (status == 200)


def test_a_device_of_the_other_project_is_foreign_here(emulator: RunningEmulator) -> None:
    assert send(emulator, "other-1").error_codes == ["SENDER_ID_MISMATCH"]
