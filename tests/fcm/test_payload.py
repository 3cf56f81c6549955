"""What leaves for FCM: every option in its place, our keys in every set of data, one deadline."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from notifications.fcm import options, payload, validation
from notifications.gateway import Push
from tests.given.every_option import ANDROID, EVERYTHING, IOS, WEB


def message(platform: str = "android", **values: Any) -> Push:
    given = options.parse(platform, values.pop("options", {}))
    defaults: dict[str, Any] = {"title": "Hi", "body": "There", "collapse_id": "carillon-81"}
    return Push(
        reference="81:7",
        kind="token",
        address="live1:APA91b",
        platform=platform,
        options=given,
        **{**defaults, **values},
    )


def fcm(platform: str = "android", **values: Any) -> dict[str, Any]:
    return payload.as_fcm(message(platform, **values))


def block(platform: str, **values: Any) -> Any:
    names = {"android": "android", "ios": "apns", "web": "webpush"}
    return fcm(platform, **values)[names[platform]]


def test_the_list_of_every_option_leaves_none_out() -> None:
    for platform, known in options.PLATFORMS.items():
        assert {*EVERYTHING[platform], "data_only"} == set(known)


@pytest.mark.parametrize("platform", EVERYTHING)
def test_every_option_at_once_is_a_message_in_order(platform: str) -> None:
    full = fcm(
        platform,
        options=EVERYTHING[platform],
        image="https://example.com/a.png",
        link="https://example.com/a",
        data={"screen": "home"},
        analytics_label="spring-12",
    )
    assert validation.validate(full) == []
    assert full["fcm_options"] == {"analytics_label": "spring-12"}


def test_android_options_stand_where_fcm_reads_them() -> None:
    android = block("android", options=ANDROID, ttl_seconds=60)
    data = android.pop("data")
    assert android == {
        "priority": "NORMAL", "ttl": "60s", "collapse_key": "o",
        "restricted_package_name": "com.example", "direct_boot_ok": True,
        "notification": {
            "tag": "offer", "channel_id": "offers", "click_action": "OPEN", "icon": "bell",
            "color": "#1A73E8", "sound": "bell.mp3", "ticker": "Offer", "visibility": "PRIVATE",
            "notification_count": 3, "sticky": True, "local_only": True,
        },
    }  # fmt: skip
    assert data == {"screen": "offers", "carillon_id": "81:7"}


def test_ios_options_stand_where_apple_reads_them() -> None:
    apns = block("ios", options=IOS, ttl_seconds=60)
    expires = int(apns["headers"].pop("apns-expiration"))
    assert 55 <= expires - time.time() <= 61
    assert apns["headers"] == {"apns-collapse-id": "offer", "apns-priority": "5"}
    assert apns["payload"]["aps"] == {
        "badge": 3, "sound": "bell.caf", "mutable-content": 1, "content-available": 1,
        "category": "OFFER", "thread-id": "offers", "interruption-level": "time-sensitive",
        "relevance-score": 0.5,
    }  # fmt: skip


def test_web_options_stand_where_browsers_read_them() -> None:
    web = block("web", options=WEB, ttl_seconds=60, link="https://example.com/a")
    assert web["headers"] == {"TTL": "60", "Urgency": "low", "Topic": "offer"}
    assert web["fcm_options"] == {"link": "https://example.com/a"}
    assert web["notification"] == {
        "tag": "offer", "icon": WEB["icon"], "badge": WEB["badge"], "actions": WEB["actions"],
        "dir": "rtl", "lang": "he", "renotify": True, "requireInteraction": True, "silent": True,
    }  # fmt: skip


@pytest.mark.parametrize("platform", EVERYTHING)
def test_a_platforms_own_data_keeps_the_link_and_our_key(platform: str) -> None:
    own = {"data": {"screen": "own", "link": "lost://"}}
    sent = block(platform, options=own, data={"screen": "common"}, link="shop://offers")
    data = sent["payload"] if platform == "ios" else sent["data"]
    ours = {"screen": "own", "link": "shop://offers", "carillon_id": "81:7"}
    assert {key: data[key] for key in ours} == ours


def test_a_second_copy_replaces_the_first_on_every_platform_unless_a_tag_says_otherwise() -> None:
    assert block("android")["notification"]["tag"] == "carillon-81"
    assert block("ios")["headers"]["apns-collapse-id"] == "carillon-81"
    assert block("web")["notification"]["tag"] == "carillon-81"
    assert block("android", options={"tag": "mine"})["notification"]["tag"] == "mine"


def test_zero_removes_a_badge_and_an_empty_text_silences_the_default_sound() -> None:
    aps = block("ios", options={"badge": 0, "sound": ""})["payload"]["aps"]
    assert aps == {"badge": 0}
    assert block("ios")["payload"]["aps"] == {"sound": "default"}


@pytest.mark.parametrize("platform", EVERYTHING)
def test_a_data_only_message_shows_nothing_itself_and_carries_its_texts(platform: str) -> None:
    sent = fcm(platform, options={"data_only": True}, data={"screen": "home"}, link="shop://a")
    assert "notification" not in sent
    assert sent["data"] == {
        "title": "Hi", "body": "There", "screen": "home", "link": "shop://a",
        "carillon_id": "81:7",
    }  # fmt: skip
    assert validation.validate(sent) == []


def test_ios_gets_a_data_only_message_at_the_one_priority_apple_takes() -> None:
    apns = block("ios", options={"data_only": True})
    assert apns["headers"]["apns-priority"] == "5"
    assert apns["payload"]["aps"] == {"content-available": 1}


@pytest.mark.parametrize(("left", "sent"), [(90, 90), (0, 0), (9_999_999, 2_419_200)])
def test_one_deadline_becomes_the_three_that_platforms_know(left: int, sent: int) -> None:
    now = time.time()
    assert block("android", ttl_seconds=left)["ttl"] == f"{sent}s"
    assert block("web", ttl_seconds=left)["headers"]["TTL"] == str(sent)
    expires = int(block("ios", ttl_seconds=left)["headers"]["apns-expiration"])
    assert 0 <= expires - int(now) - sent <= 2


def test_a_later_attempt_tells_apple_a_later_moment_and_everything_else_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = message("ios", ttl_seconds=60, image="https://example.com/a.png")
    first = json.loads(payload.encode(one))["message"]
    later = time.time() + 100
    monkeypatch.setattr(time, "time", lambda: later)
    second = json.loads(payload.encode(replace(one)))["message"]

    moments = [int(each["apns"]["headers"].pop("apns-expiration")) for each in (first, second)]
    assert 99 <= moments[1] - moments[0] <= 101
    assert first == second


def test_what_was_checked_is_what_is_sent() -> None:
    one = message()
    checked = payload.encode(one)
    one.title = "Another title"
    assert payload.encode(one) is checked


def test_a_copy_with_another_address_goes_to_that_one() -> None:
    one = message()
    assert payload.as_fcm(one)["token"] == "live1:APA91b"
    assert payload.as_fcm(replace(one, address="live2:APA91b"))["token"] == "live2:APA91b"


def test_texts_leave_as_raw_utf8() -> None:
    body = payload.encode(message(title="안녕 🎉"))
    assert "안녕 🎉".encode() in body and b"\\u" not in body
    assert json.loads(body)["message"]["notification"]["title"] == "안녕 🎉"
