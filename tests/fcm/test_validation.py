"""A message FCM would refuse is refused here first, with the field and the fix."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifications.fcm import sizes
from notifications.fcm.validation import validate

TO = {"token": "live1:APA91b"}


def problems(**message: Any) -> list[str]:
    return [str(problem) for problem in validate({**TO, **message})]


@pytest.mark.parametrize(
    ("message", "field", "words"),
    [
        # The schema.
        ({"nonsense": 1}, "message.nonsense", "no such field"),
        ({"data": {"n": 5}}, "message.data.n", "a text in quotes, not 5"),
        ({"data": []}, "message.data", "an object"),
        ({"notification": {"title": True}}, "message.notification.title", "a text in quotes"),
        ({"android": {"ttl": 3600}}, "message.android.ttl", '"3600s"'),
        ({"android": {"ttl": "3600"}}, "message.android.ttl", '"3600s"'),
        ({"android": {"priority": "URGENT"}}, "message.android.priority", "NORMAL, HIGH"),
        ({"android": {"directBootOk": "true"}}, "message.android.directBootOk", "true or false"),
        ({"android": {"notification": {"notification_count": 5.5}}},
         "message.android.notification.notification_count", "whole number"),
        ({"android": {"notification": {"vibrate_timings": ["1s", 2]}}},
         "message.android.notification.vibrate_timings[1]", '"3600s"'),
        ({"android": {"notification": {"event_time": "soon"}}},
         "message.android.notification.event_time", "a moment"),
        ({"apns": {"headers": {"apns-priority": 5}}},
         "message.apns.headers.apns-priority", "a text in quotes"),
        # The rules it lacks.
        ({"data": {"from": "x"}}, "message.data", "reserved by FCM"),
        ({"data": {"Google.x": "x"}}, "message.data", "reserved by FCM"),
        ({"android": {"data": {"gcm_x": "x"}}}, "message.android.data", "reserved by FCM"),
        ({"webpush": {"data": {"": "x"}}}, "message.webpush.data", "key is empty"),
        ({"android": {"ttl": "2419201s"}}, "message.android.ttl", "28 days"),
        ({"android": {"notification": {"color": "red"}}},
         "message.android.notification.color", "#1A73E8"),
        ({"notification": {"image": "http://x/a.png"}}, "message.notification.image", "https://"),
        ({"fcm_options": {"analytics_label": "two words"}},
         "message.fcm_options.analytics_label", "no spaces"),
        ({"apns": {"fcmOptions": {"analyticsLabel": "x" * 51}}},
         "message.apns.fcmOptions.analyticsLabel", "1 to 50"),
        ({"webpush": {"fcm_options": {"link": "http://x"}}},
         "message.webpush.fcm_options.link", "https://"),
        ({"webpush": {"headers": {"TTL": "1.5"}}}, "message.webpush.headers.TTL", "seconds"),
        ({"webpush": {"headers": {"Urgency": "max"}}}, "message.webpush.headers.Urgency", "one of"),
        ({"webpush": {"headers": {"Topic": "a b"}}}, "message.webpush.headers.Topic", "1 to 32"),
        ({"webpush": {"notification": {"dir": "up"}}},
         "message.webpush.notification.dir", "one of"),
        ({"apns": {"headers": {"apns-collapse-id": "é" * 33}}},
         "message.apns.headers.apns-collapse-id", "66 bytes; at most 64"),
        ({"notification": {"title": "x"}, "apns": {"payload": {"aps": {"badge": "1"}}}},
         "message.apns.payload.aps.badge", "a number without quotes"),
        ({"notification": {"title": "x"}, "apns": {"payload": {"aps": {"mutable-content": True}}}},
         "message.apns.payload.aps.mutable-content", "1 or 0"),
        ({"notification": {"title": "x"}, "apns": {"payload": {"id": 2**53 + 1}}},
         "message.apns.payload.id", "send it as a text"),
        ({"notification": {"title": "half \ud83d"}}, "message.notification.title", "surrogate"),
        ({"data": {"x": "a\x00b"}}, "message.data.x", "NUL"),
        ({"data": {"a\x00": "b"}}, "message.data.a\x00", "NUL"),
        # Values that depend on one another.
        ({"fid": "x"}, "message", "exactly one"),
        ({"token": ""}, "message", "has no target"),
        ({"name": "projects/p/messages/1"}, "message.name", "remove it"),
        ({"android": {}, "android_v2": {}}, "message.androidV2", "exclude each other"),
        ({"android": {"notification": {"title_loc_args": ["x"]}}},
         "message.android.notification.title_loc_args", "needs title_loc_key"),
        ({"android": {"notification": {"light_settings": {"color": {}}}}},
         "message.android.notification.light_settings", "needs light_on_duration"),
        ({"data": {"a": "b"}, "apns": {"headers": {"apns-priority": "10"}}},
         "message.apns.headers.apns-priority", '"5"'),
        ({"data": {"a": "b"}, "apns": {"payload": {"aps": {"content-available": 1}}}},
         "message.apns.headers.apns-priority", '"5"'),
    ],
)  # fmt: skip
def test_each_rule_names_its_field_and_what_to_do(
    message: dict[str, Any], field: str, words: str
) -> None:
    (said,) = problems(**message)
    assert said.startswith(f"{field}: ") and words in said


def test_everything_wrong_is_said_at_once() -> None:
    found = problems(data={"n": 5}, android={"ttl": 1, "colour": "red"})
    assert [line.partition(":")[0] for line in found] == [
        "message.data.n", "message.android.ttl", "message.android.colour",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        {"fcmOptions": {"analyticsLabel": "a~1%"}, "android": {"directBootOk": None}},
        {"android": {"priority": "high", "notification": {"visibility": "private"}}},
        {"apns": {"headers": {"apns-priority": "5"}, "payload": {"aps": {"content-available": 1}}}},
        {"webpush": {"notification": {"vibrate": [100, 50], "data": {"any": [1, None, True]}}}},
    ],
)
def test_what_google_takes_passes(message: dict[str, Any]) -> None:
    assert problems(**message) == []


@pytest.mark.parametrize(
    ("condition", "fine"),
    [
        ("'a' in topics && ('b' in topics || 'c' in topics)", True),
        ("a in topics", False),
        (" || ".join(f"'t{n}' in topics" for n in range(6)), False),
    ],
)
def test_a_condition_names_one_to_five_topics(condition: str, fine: bool) -> None:
    assert (validate({"condition": condition}) == []) is fine


# --- Size -----------------------------------------------------------------------------------------


def test_bytes_are_counted_not_characters_and_the_limit_itself_is_fine() -> None:
    assert problems(notification={"body": "é" * 2_046}) == []  # and 4 for “body”
    (said,) = problems(notification={"body": "é" * 2_047})
    assert said.startswith("message: 4,098 bytes on every phone; FCM takes 4,096")


def test_each_platform_is_measured_after_its_own_overrides() -> None:
    long = "x" * 5_000
    kept = {"data": {"a": long}, "android": {"data": {"a": "short"}}}
    assert problems(**kept) == []
    (said,) = problems(**kept, webpush={"notification": {"title": "y" * 200}})
    assert "bytes on the web" in said
    (said,) = problems(notification={"body": "x"}, apns={"payload": {"a": long}})
    assert "bytes on iOS" in said


def test_a_topic_takes_half() -> None:
    (problem,) = validate({"topic": "news", "data": {"a": "x" * 2_048}})
    assert "FCM takes 2,048" in str(problem)


TEXT = st.text(max_size=40)
DATA = st.dictionaries(TEXT, TEXT, max_size=4)
NOTIFICATION = st.fixed_dictionaries({}, optional={"title": TEXT, "body": TEXT})


@given(DATA, NOTIFICATION, DATA, NOTIFICATION)
def test_no_message_is_bigger_than_its_json(
    data: dict[str, str], shown: dict[str, str], own: dict[str, str], specific: dict[str, str]
) -> None:
    """Which is what lets nearly all of them pass on one look at their length."""
    message = {
        **TO, "data": data, "notification": shown,
        "android": {"data": own, "notification": specific},
        "apns": {"payload": {"aps": {"sound": "default"}}},
        "webpush": {"notification": specific},
    }  # fmt: skip
    assert max(sizes.measure(message).values()) <= len(orjson.dumps(message))
