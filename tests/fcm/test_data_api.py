"""FCM's own figures: fetched once a day for a project that names its app, kept, told in words."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns import tasks as ticks
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications import tasks
from notifications.fcm_data import data_api, fetching, words
from notifications.fcm_data.day import Asking, FcmDay
from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from tests.fcm.message import APP
from tests.given.builders import make_contact, make_device, make_project, make_run
from tests.servers.fcm import Fcm

OFF = {
    "error": {
        "code": 403, "status": "PERMISSION_DENIED",
        "message": "Firebase Cloud Messaging Data API has not been used in project 123 before.",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                     "reason": "SERVICE_DISABLED"}],
    }
}  # fmt: skip


@pytest.fixture
def shop(project: Project) -> Project:
    """Names its app."""
    project.fcm_app_id = APP
    project.save()
    return project


def sent(project: Project, label: str, **platforms: int) -> None:
    for platform, count in platforms.items():
        for number in range(count):
            person = make_contact(project, external_id=f"{label}-{platform}-{number}")
            make_device(person, platform=platform)
    run = make_run(project)
    Run.objects.filter(pk=run.pk).update(analytics_label=label)
    for chunk in run.chunks.all():
        sending.send(run.pk, chunk.number, run.epoch)


def told() -> list[tuple[str, int, dict[str, float]]]:
    rows = FcmDay.objects.order_by("label", "day")
    return list(rows.values_list("label", "accepted", "percents"))


def fix(project: Project) -> str:
    asking = Asking.objects.get(project=project)
    return words.fix(asking, firebase_project_id=project.firebase_project_id)


@pytest.mark.django_db(transaction=True)
def test_what_android_phones_were_really_sent_is_told(shop: Project) -> None:
    sent(shop, "tea", android=3, ios=2)
    tasks.fetch_figures(project_id=shop.pk)
    assert told() == [("tea", 3, {"delivered": 100.0})]
    assert fix(shop) == ""


def test_it_is_asked_once_a_day_and_once_by_two_who_come_at_once(shop: Project, fcm: Fcm) -> None:
    now = timezone.now()
    assert fetching.due(now) == [shop.pk]
    for _ in range(2):
        fetching.fetch(shop.pk, now=now)
    assert fcm.counts()["token_requests"] == 1
    assert fetching.due(now + timedelta(hours=23)) == []
    assert fetching.due(now + timedelta(hours=25)) == [shop.pk]


def test_the_tick_asks_for_whoever_named_their_app(shop: Project, enqueued: list[int]) -> None:
    make_project(slug="museum")
    ticks.tidy()
    assert enqueued == [shop.pk]


@pytest.mark.parametrize(
    ("answer", "fixed_by", "hours"),
    [
        ({"status": 403, "body": OFF}, "apis/library/fcmdata.googleapis.com?project=", 24),
        ("norole", "fcmdata.deliverydata.list", 24),
        ("noproject", "knows no Android app of this ID", 24),
        ("expired", "Make a new key", 24),
        ("unavailable", "asked again in an hour", 1),
        ("badgateway", "asked again in an hour", 1),
        ({"status": 200, "body": "<html>"}, "perhaps a proxy", 24),
        ({"status": 302, "body": ""}, "perhaps a proxy", 24),
    ],
)
def test_what_went_wrong_is_told_with_its_fix_and_what_was_known_stays(
    shop: Project, fcm: Fcm, answer: Any, fixed_by: str, hours: int
) -> None:
    FcmDay.objects.create(
        project=shop, app_id=APP, day=timezone.now().date(), label="tea", accepted=7, percents={}
    )
    fcm.script("answer", door="figures", answer=answer)
    now = timezone.now()
    tasks.fetch_figures(project_id=shop.pk)
    assert fixed_by in fix(shop)
    assert told() == [("tea", 7, {})]
    again = Asking.objects.get(project=shop).next_at - now
    assert timedelta(hours=hours) <= again < timedelta(hours=hours, minutes=5)


def test_a_token_that_may_only_send_is_told_what_it_lacks(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = "https://www.googleapis.com/auth/firebase.messaging"
    monkeypatch.setattr(fetching, "CLOUD_PLATFORM", narrow)
    tasks.fetch_figures(project_id=shop.pk)
    assert "lack the scope “cloud-platform”" in fix(shop)


def test_without_a_key_and_without_a_way_the_cause_is_told(shop: Project, fcm: Fcm) -> None:
    fcm.script("drop", door="figures")
    tasks.fetch_figures(project_id=shop.pk)
    assert "asked again in an hour" in fix(shop)
    ServiceAccount.objects.all().delete()
    Asking.objects.all().delete()
    tasks.fetch_figures(project_id=shop.pk)
    assert fix(shop).startswith("The project's key gives no token")


def test_what_is_told_again_is_told_better_and_what_is_old_goes(shop: Project) -> None:
    now = timezone.now()
    told_before = [data_api.Found(now.date(), "tea", 5, {"pending": 100.0})]
    fetching._keep(shop, told_before, now)
    later = data_api.Found(now.date(), "tea", 9, {"delivered": 99.5})
    fetching._keep(shop, [later, later], now)
    assert told() == [("tea", 9, {"delivered": 99.5})]
    fetching._keep(shop, [], now + timedelta(days=500))
    assert told() == []


@pytest.mark.parametrize(
    "app",
    ["com.shop.app", "1:123:ios:0a1b2c3d4e5f", "1:123:android:../../x", "1:1:android:0a1b2c3d/",
     "1:123:android:0A1B2C3D4E", "1:123:android:0a1b2c3d\n", "AIzaSyD-abc"],
)  # fmt: skip
def test_what_is_no_apps_id_is_refused(db: None, app: str) -> None:
    with pytest.raises(ValidationError, match="Android app's ID looks like"):
        Project(fcm_app_id=app, name="Shop", firebase_project_id="shop-demo").clean()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=8,
)
DATE, DATA = ("date", "year", "month", "day"), ("data", "countMessagesAccepted")
KEYS = st.sampled_from((*DATE, *DATA, "analyticsLabel", "messageOutcomePercents", "delivered"))


@given(st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON)) | JSON)
def test_an_entry_of_any_kind_is_read_or_left_out(row: Any) -> None:
    found = data_api._found(row)
    if found is not None:
        assert isinstance(found.day, date) and found.accepted >= 0
