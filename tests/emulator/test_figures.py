"""The Data API tells what was really sent to Android, by day and label, to whoever may read it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.emulator.conftest import Start
from tests.emulator.running import SCOPE, Response, RunningEmulator
from tests.given.waiting import eventually

WIDE = "https://www.googleapis.com/auth/cloud-platform"
APP = "1:1234567890:android:321abc456def"
PLACE = f"/v1beta1/projects/carillon-demo/androidApps/{APP}/deliveryData"


def send(emulator: RunningEmulator, *labels: str, platform: str = "android") -> None:
    token = emulator.token(scope=WIDE)
    for number, label in enumerate(labels):
        labelled = {"fcmOptions": {"analyticsLabel": label}} if label else {}
        message = {"token": f"live1:APA91b{number}", platform: {}, **labelled}
        assert emulator.send(message, token=token).status == 200


def ask(emulator: RunningEmulator, query: str = "", *, scope: str = WIDE) -> Response:
    headers = {"Authorization": f"Bearer {emulator.token(scope=scope)}"}
    return emulator.ask("GET", PLACE + query, headers=headers)


def entry(label: str, accepted: int, **percents: float) -> dict[str, Any]:
    day = datetime.now(ZoneInfo("America/Los_Angeles")).date()
    data = {"countMessagesAccepted": str(accepted), "messageOutcomePercents": percents}
    return {
        "appId": APP, "date": {"year": day.year, "month": day.month, "day": day.day},
        **({"analyticsLabel": label} if label else {}), "data": data,
    }  # fmt: skip


def test_what_was_accepted_for_android_is_told_by_label(emulator: RunningEmulator) -> None:
    assert ask(emulator).json == {}
    send(emulator, "tea", "tea", "", "coffee")
    send(emulator, "tea", platform="apns")
    told = [entry("", 1, delivered=100), entry("coffee", 1, delivered=100),
            entry("tea", 2, delivered=100)]  # fmt: skip
    assert ask(emulator).json == {"androidDeliveryData": told}


def test_it_is_told_in_pages(emulator: RunningEmulator) -> None:
    send(emulator, "a", "b", "c")
    first = ask(emulator, "?pageSize=2").json
    assert [each["analyticsLabel"] for each in first["androidDeliveryData"]] == ["a", "b"]
    rest = ask(emulator, f"?pageSize=2&pageToken={first['nextPageToken']}").json
    assert [each["analyticsLabel"] for each in rest["androidDeliveryData"]] == ["c"]
    assert "nextPageToken" not in rest


def test_only_who_may_see_all_of_the_project_may_read(emulator: RunningEmulator) -> None:
    assert ask(emulator, scope=SCOPE).json["error"]["details"][0]["reason"] == (
        "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
    )
    assert emulator.ask("GET", PLACE).status == 401
    other = {"Authorization": f"Bearer {emulator.wrong_token()}"}
    assert emulator.ask("GET", PLACE, headers=other).status == 403


def test_a_fault_can_be_scripted_for_it(emulator: RunningEmulator) -> None:
    emulator.script(kind="answer", door="figures", answer="unavailable")
    assert ask(emulator).status == 503
    send(emulator, "tea")


@pytest.mark.parametrize("processes", [1, 2])
def test_phones_decide_what_becomes_of_it(start: Start, processes: int) -> None:
    """Half of them are offline, and replace what waits; nobody comes back."""
    emulator = start("--port", "0", "--processes", str(processes))
    emulator.settings(phones=True, receive_ms=1, offline_percent=100, offline_seconds=3_600)
    send(emulator, "late")
    message = {"token": "live1:APA91b0", "android": {"collapseKey": "score"},
               "fcmOptions": {"analyticsLabel": "score"}}  # fmt: skip
    for _ in range(4):
        assert emulator.send(message, token=emulator.token(scope=WIDE)).status == 200
    told = [entry("late", 1, pending=100), entry("score", 4, collapsed=75, pending=25)]
    assert ask(emulator).json == {"androidDeliveryData": told}
    emulator.settings(offline_percent=0)
    send(emulator, "now")

    def arrived() -> bool:
        return bool(ask(emulator).json["androidDeliveryData"][1] == entry("now", 1, delivered=100))

    eventually("it has arrived", arrived)
