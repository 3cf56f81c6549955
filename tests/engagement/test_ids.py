"""A message carries what its phone reports by, if its project asks; nobody can make it up."""

from __future__ import annotations

import string
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns.engagement.receipt import EchoSum, Event, Receipt, Report
from campaigns.engagement.store_receipts import keep
from campaigns.engine import forgetting
from campaigns.runs.run import Run
from campaigns.sending import message_settings
from campaigns.texts.rendering import Reader
from campaigns.texts.template import Template
from notifications.fcm.payload import as_fcm
from notifications.keys.receipt_id import receipt_id, reference_of
from notifications.people.project import Project
from tests.given.builders import make_project
from tests.given.runs import cancelled

REFERENCES = st.builds("{}:{}".format, st.integers(1, 10**12), st.integers(1, 10**8))
LETTERS = string.ascii_letters + string.digits + "-_:."
CONTENT = Template(title="Hello", body="You have mail").frozen()


@given(REFERENCES)
def test_an_id_names_its_message(reference: str) -> None:
    assert reference_of(receipt_id(reference)) == reference


@given(REFERENCES, st.data())
def test_an_id_with_another_letter_names_none(reference: str, data: st.DataObject) -> None:
    right = receipt_id(reference)
    place = data.draw(st.integers(0, len(right) - 1))
    letter = data.draw(st.sampled_from(LETTERS.replace(right[place], "")))
    assert reference_of(right[:place] + letter + right[place + 1 :]) is None


@pytest.mark.parametrize("wrong", ["", ".", "1:1", "1:1.", "1:1.\n", "1:1." + "A" * 22, "é" * 30])
def test_what_is_no_id_names_none(wrong: str) -> None:
    assert reference_of(wrong) is None


def test_an_id_outlives_a_change_of_the_key_as_long_as_the_old_one_is_kept(
    settings: LazySettings,
) -> None:
    old = receipt_id("7:1")
    settings.CREDENTIALS_KEY = f"brand new,{settings.CREDENTIALS_KEY}"
    assert receipt_id("7:1") != old
    assert reference_of(old) == reference_of(receipt_id("7:1")) == "7:1"
    settings.CREDENTIALS_KEY = "brand new"
    assert reference_of(old) is None


def carried(project: Project, platform: str, options: dict[str, Any]) -> dict[str, str]:
    """The data of a message, as its app finds it."""
    run = Run(
        project=project, content={**CONTENT, "options": options}, started_at=timezone.now(),
        ttl_seconds=60,
    )  # fmt: skip
    reader = Reader("81:7", "ada", {}, "en", "UTC", "token", "live1:APA91b", platform)
    message = as_fcm(message_settings.of_run(run)[None].renderer.render(reader, ttl_seconds=60))
    own = {"ios": ("apns", "payload"), "android": ("android", "data"), "web": ("webpush", "data")}
    block, place = own[platform]
    return {**message["data"], **message.get(block, {}).get(place, {})}


@pytest.mark.parametrize("platform", ["android", "ios", "web"])
@pytest.mark.parametrize("own", [{}, {"screen": "home"}])
def test_a_message_carries_its_id_if_its_project_asks(platform: str, own: dict[str, str]) -> None:
    options = {platform: {"data": own}} if own else {}
    asked = carried(Project(asks_receipts=True), platform, options)
    assert asked["carillon_receipt"] == receipt_id("81:7")
    assert asked["carillon_id"] == "81:7"
    assert "carillon_receipt" not in carried(Project(), platform, options)


@pytest.mark.django_db
def test_forgetting_a_run_forgets_its_receipts_and_keeps_their_sums() -> None:
    run, other = (cancelled(make_project()) for _ in range(2))
    assert keep([Report(each.pk, 1, Event.OPENED, None) for each in (run, other)]) == 2
    forgetting.forget(run, by="test", now=timezone.now() + timedelta(days=1))
    assert list(Receipt.objects.values_list("run_id", flat=True)) == [other.pk]
    assert EchoSum.objects.filter(run_id=run.pk, by="").get().count == 1
    assert keep([Report(run.pk, 2, Event.OPENED, None)]) == 0
