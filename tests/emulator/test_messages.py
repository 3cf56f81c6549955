from __future__ import annotations

import json
from typing import Any

import pytest

from tests.emulator.running import Response, RunningEmulator

WHOLE = {
    "token": "device",
    "data": {"carillon_id": "1:1"},
    "notification": {"title": "t", "body": "b", "image": "https://example.com/a.png"},
    "fcmOptions": {"analyticsLabel": "spring-sale"},
    "android": {
        "collapseKey": "c",
        "priority": "high",
        "ttl": "86400s",
        "data": {"a": "b"},
        "notification": {
            "color": "#aabbcc",
            "channelId": "news",
            "notificationCount": "5",
            "notificationPriority": "PRIORITY_HIGH",
            "eventTime": "2026-11-21T10:00:00Z",
            "vibrateTimings": ["0.5s", "1s"],
            "titleLocKey": "hello",
            "titleLocArgs": ["Ada"],
            "lightSettings": {
                "color": {"red": 1, "green": 0, "blue": 0.5, "alpha": 1},
                "lightOnDuration": "1s",
                "lightOffDuration": "1s",
            },
        },
    },
    "apns": {
        "headers": {"apns-priority": "10", "apns-collapse-id": "c"},
        "payload": {"aps": {"alert": {"title": "t"}, "badge": 3, "mutable-content": 1}, "k": [1]},
        "fcmOptions": {"image": "https://example.com/a.png"},
    },
    "webpush": {
        "headers": {"TTL": "3600", "Urgency": "high", "Topic": "sale"},
        "notification": {"title": "t", "actions": [{"action": "a", "title": "A"}]},
        "fcmOptions": {"link": "https://example.com"},
    },
}


def snake(value: Any) -> Any:
    """The same message as the SDKs spell it."""
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{c.lower()}" if c.isupper() and "-" not in key else c for c in key).removeprefix(
            "_"
        )
        if key.upper() != key and key not in ("Urgency", "Topic")
        else key: snake(item)
        for key, item in value.items()
    }


def violation(response: Response) -> dict[str, str]:
    details = response.json["error"]["details"]
    found: dict[str, str] = next(
        detail["fieldViolations"][0] for detail in details if "fieldViolations" in detail
    )
    return found


def for_device(**fields: Any) -> dict[str, Any]:
    return {"token": "device", **fields}


def test_a_message_in_order_is_accepted_under_a_name_of_its_own(emulator: RunningEmulator) -> None:
    names = [emulator.send(WHOLE).json["name"] for _ in range(2)]
    assert all(name.startswith("projects/carillon-demo/messages/0:") for name in names)
    assert names[0] != names[1]


def test_snake_case_is_the_same_message(emulator: RunningEmulator) -> None:
    message = snake(WHOLE)
    assert message["android"]["notification"]["light_settings"]["light_on_duration"] == "1s"
    assert emulator.send(message).status == 200


def test_null_is_unset_and_the_last_of_two_keys_wins(emulator: RunningEmulator) -> None:
    body = '{"message": {"token": "first", "token": "second", "topic": null, "android": null}}'
    assert emulator.send_text(body).status == 200
    assert [record["address"] for record in emulator.witnessed()] == ["second"]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (for_device(data={"a": 12}), "at 'message.data[0].value' (TYPE_STRING), 12"),
        (for_device(data={"a": "b", "c": None}), "at 'message.data[1].value' (TYPE_STRING), null"),
        (for_device(data={"a": True}), "(TYPE_STRING), true"),
        (for_device(colour="red"), "Unknown name \"colour\" at 'message': Cannot find field."),
        (for_device(notification={"title": 5}), "at 'message.notification.title' (TYPE_STRING), 5"),
        (for_device(notification={"title": ["a"]}), "is not repeating, cannot start list"),
        (for_device(notification={"title": {}}), "Starting an object on a scalar field"),
        (for_device(notification="hello"), 'google.firebase.fcm.v1.Notification), "hello"'),
        (for_device(android={"ttl": "3600"}), "duration must end with 's'"),
        (for_device(android={"ttl": 3600}), "(type.googleapis.com/google.protobuf.Duration), 3600"),
        (for_device(android={"priority": "urgent"}), "at 'message.android.priority'"),
        (for_device(android={"directBootOk": "true"}), '(TYPE_BOOL), "true"'),
        (for_device(android={"notification": {"notificationCount": 5.5}}), "(TYPE_INT32), 5.5"),
        (for_device(android={"notification": {"vibrateTimings": ["1"]}}), "vibrateTimings[0]"),
        (for_device(apns={"headers": {"apns-priority": 5}}), "(TYPE_STRING), 5"),
        (for_device(topic="news"), "oneof field 'target' is already set. Cannot set 'topic'"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_in_googles_words(
    emulator: RunningEmulator, message: dict[str, Any], words: str
) -> None:
    refused = emulator.send(message)
    assert (refused.status, refused.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert words in refused.json["error"]["message"]
    assert violation(refused)["description"] == refused.json["error"]["message"]
    assert refused.error_codes == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"data": {"from": "x"}}, "message.data"),
        ({"data": {"Google.x": "x"}}, "message.data"),
        ({"data": {"gcm.notification.x": "x"}}, "message.data"),
        ({"android": {"data": {"message_type": "x"}}}, "message.android.data"),
        ({"android": {"ttl": "2419201s"}}, "message.android.ttl"),
        ({"android": {"ttl": "-1s"}}, "message.android.ttl"),
        ({"notification": {"image": "http://example.com/a.png"}}, "message.notification.image"),
        ({"notification": {"image": "a.png"}}, "message.notification.image"),
        ({"notification": {"image": "https://[x"}}, "message.notification.image"),
        ({"android": {"notification": {"color": "red"}}}, "message.android.notification.color"),
        (
            {"android": {"notification": {"bodyLocArgs": ["x"]}}},
            "message.android.notification.bodyLocArgs",
        ),
        (
            {"android": {"notification": {"lightSettings": {"lightOnDuration": "1s"}}}},
            "message.android.notification.lightSettings",
        ),
        ({"fcmOptions": {"analyticsLabel": "two words"}}, "message.fcmOptions.analyticsLabel"),
        ({"android": {"ttl": "1s"}, "androidV2": {"ttl": "1s"}}, "message.androidV2"),
        (
            {"apns": {"headers": {"apns-collapse-id": "é" * 33}}},
            "message.apns.headers.apns-collapse-id",
        ),
        ({"apns": {"payload": {"aps": {"badge": "1"}}}}, "message.apns.payload.aps.badge"),
        ({"apns": {"payload": {"aps": None}}}, "message.apns.payload.aps"),
        ({"apns": {"headers": {"apns-priority": "10"}}}, "message.apns.headers"),
        ({"webpush": {"headers": {"TTL": "-1"}}}, "message.webpush.headers.TTL"),
        ({"webpush": {"headers": {"Urgency": "now"}}}, "message.webpush.headers.Urgency"),
        (
            {"webpush": {"fcmOptions": {"link": "http://example.com"}}},
            "message.webpush.fcmOptions.link",
        ),
    ],
)
def test_what_breaks_a_rule_of_fcms_is_refused_with_its_field(
    emulator: RunningEmulator, fields: dict[str, Any], field: str
) -> None:
    refused = emulator.send(for_device(**fields))
    assert (refused.status, refused.error_codes) == (400, ["INVALID_ARGUMENT"])
    assert violation(refused)["field"] == field
    assert emulator.witnessed() == []


@pytest.mark.parametrize("message", [{}, {"token": ""}, {"notification": {"title": "t"}}])
def test_a_message_for_nobody_is_refused(
    emulator: RunningEmulator, message: dict[str, Any]
) -> None:
    refused = emulator.send(message)
    assert refused.json["error"]["message"] == "Recipient of the message is not set."


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b'{"message": "x"}',
        b"\xff",
        b'{"message": {"token": "\\ud800"}}',
    ],
)
def test_what_is_no_json_object_is_refused(emulator: RunningEmulator, body: bytes) -> None:
    refused = emulator.send_text(body)
    assert (refused.status, refused.json["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_the_size_counts_text_in_utf8_and_not_json(emulator: RunningEmulator) -> None:
    escaped = json.dumps({"message": {"token": "d", "data": {"k": "é" * 2047}}})
    assert len(escaped) > 12_000
    assert emulator.send_text(escaped).status == 200
    refused = emulator.send({"token": "d", "data": {"k": "é" * 2048}})
    assert refused.json["error"]["message"] == "Android message is too big"


def test_the_apns_payload_has_a_limit_of_its_own(emulator: RunningEmulator) -> None:
    refused = emulator.send(for_device(apns={"payload": {"aps": {"alert": "x" * 4096}}}))
    assert refused.json["error"]["message"] == "iOS message is too big"


def test_a_topic_takes_half_as_much(emulator: RunningEmulator) -> None:
    assert emulator.send({"topic": "news", "data": {"k": "x" * 2040}}).status == 200
    assert emulator.send({"topic": "news", "data": {"k": "x" * 2050}}).status == 400


@pytest.mark.parametrize("topic", ["/topics/news", "two words", "x" * 901])
def test_a_wrong_topic_is_refused(emulator: RunningEmulator, topic: str) -> None:
    assert violation(emulator.send({"topic": topic}))["field"] == "message.topic"


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("'a' in topics", 200),
        ("'a' in topics && ('b' in topics || 'c' in topics)", 200),
        ("!('a' in topics) || ('b' in topics)", 200),
        (" || ".join(f"'{name}' in topics" for name in "abcde"), 200),
        (" || ".join(f"'{name}' in topics" for name in "abcdef"), 400),
        ("T", 400),
        ("'a' in topics &&", 400),
        ("('a' in topics", 400),
        ("'a' and 'b'", 400),
    ],
)
def test_a_condition_joins_up_to_five_topics(
    emulator: RunningEmulator, condition: str, status: int
) -> None:
    answer = emulator.send({"condition": condition})
    assert answer.status == status
    if status == 400:
        assert "details" not in answer.json["error"]


def test_a_message_that_is_only_validated_reaches_nobody(emulator: RunningEmulator) -> None:
    answer = emulator.send({"token": "a"}, validateOnly=True)
    assert answer.json == {"name": "projects/carillon-demo/messages/fake_message_id"}
    assert emulator.send({"token": "dead-1"}, validate_only=True).status == 404
    assert emulator.witnessed() == []
    assert (emulator.counts()["accepted"], emulator.counts()["validated"]) == (0, 1)
    assert emulator.counts()["by_answer"] == {"VALIDATED": 1, "UNREGISTERED": 1}
