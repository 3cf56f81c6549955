"""Rows that the release before paused or left out: their English is read once, by a migration."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.utils import translation

from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_people, make_run

pytestmark = pytest.mark.django_db
migration = import_module("campaigns.migrations.0017_read_old_details")

# As the release before writes them, with its causes; what they are in ours; what they say now.
SAID: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "1,234 requests of one window did not fit FCM's schema.":
        (Cause.UNREADABLE_MESSAGE, "unreadable", {"count": 1234}, ""),
    "1 requests of one window did not fit FCM's schema.":
        (Cause.UNREADABLE_MESSAGE, "unreadable", {"count": 1},
         "1 request of one window did not fit FCM's schema."),
    "12 of 5,678 addresses are of another project.":
        (Cause.OTHER_PROJECT, "foreign", {"count": 12, "answered": 5678}, ""),
    "The first 100 were all refused.": (Cause.REFUSED_MESSAGE, "refused", {"count": 100}, ""),
    "300 of 1,000 addresses. No device was retired.":
        (Cause.DEAD_ADDRESSES, "dying", {"dead": 300, "answered": 1000}, ""),
    "300 of 1,000 addresses. 1,250 devices were retired before.":
        (Cause.DEAD_ADDRESSES, "dying_retired",
         {"dead": 300, "answered": 1000, "retired": 1250}, ""),
    "300 of the 1,000 addresses of chunk 4. 1 devices were retired before.":
        (Cause.DEAD_ADDRESSES, "dying_retired", {"dead": 300, "answered": 1000, "retired": 1},
         "300 of 1,000 addresses. 1 device was retired before."),
    "300 of the 1,000 addresses of chunk 4. No device was retired.":
        (Cause.DEAD_ADDRESSES, "dying", {"dead": 300, "answered": 1000},
         "300 of 1,000 addresses. No device was retired."),
    "3,000 requests for 1 recipients may have arrived.":
        (Cause.STORM, "storm", {"copies": 3000, "planned": 1},
         "3,000 requests for 1 recipient may have arrived."),
    "1,200 devices wait: iOS, Web.":
        (Cause.PLATFORM_KEY, "held", {"count": 1200, "platforms": ["ios", "web"]}, ""),
    "1 devices wait: Android.":
        (Cause.PLATFORM_KEY, "held", {"count": 1, "platforms": ["android"]},
         "1 device waits: Android."),
    "1 chunks are left.": (Cause.QUARANTINED, "stuck", {"count": 1}, "1 chunk is left."),
    "It was due 95 min ago.": (Cause.LATE, "late", {"minutes": 95}, ""),
    "It was due 1,003 h ago.": (Cause.LATE, "late", {"minutes": 60_180}, ""),
    "Nothing happened for 2 h.": (Cause.AWAY, "silent", {"minutes": 120}, ""),
    "Its rules name a list that was deleted: 3, 14. Cancel it and launch its campaign again.":
        (Cause.BROKEN, "list_gone", {"lists": [3, 14]}, ""),
    "It was user:sana.kim.":
        (Cause.BY_HAND, "by_hand", {"who": "user:sana.kim"}, "It was sana.kim."),
    "It was user:due 3 h ago..":
        (Cause.BY_HAND, "by_hand", {"who": "user:due 3 h ago."}, "It was due 3 h ago.."),
    "It was user:(.*) \\1 {who} %s\n김.":
        (Cause.BY_HAND, "by_hand", {"who": "user:(.*) \\1 {who} %s\n김"},
         "It was (.*) \\1 {who} %s\n김."),
    "It was key:car_12.": (Cause.BY_HAND, "by_hand", {"who": "key:car_12"},
                           "It was the API key car_12…."),
    "Left out: run 1234 of this campaign was not finished yet.":
        ("", "left_out", {"run": 1234}, ""),
    "Left out by user:a; the series went on.; the series went on.":
        ("", "left_out_by", {"who": "user:a; the series went on."},
         "Left out by a; the series went on.; the series went on."),
}  # fmt: skip
NOBODYS = (
    (Cause.REFUSED_MESSAGE, "Requested entity was not found."),
    (Cause.REFUSED_MESSAGE, "It was user:ada."),  # FCM's own words, whatever they look like
    (Cause.DEAD_ADDRESSES, "31.0 % of the addresses; usual here is 2.0 %. No device was retired."),
    (Cause.PLATFORM_KEY, "3 devices wait: Fridge."),
    (Cause.STORM, ", requests for , recipients may have arrived."),
    (Cause.LATE, "It was due ３ h ago."),
)


@pytest.fixture
def run(project: Project) -> Run:
    make_people(project, 1)
    return make_run(project)


def row(run: Run) -> tuple[str, Any, str]:
    run.refresh_from_db()
    return run.detail_code, run.detail_args, run.cause_detail


def written(run: Run, cause: str, english: str) -> None:
    state = Run.State.PAUSED if cause else Run.State.SCHEDULED
    values = {"state": state, "cause": cause, "cause_detail": english}
    Run.objects.filter(pk=run.pk).update(**values, detail_code="", detail_args=None)


@pytest.mark.parametrize("english", SAID)
def test_its_sentence_is_read_and_said_in_korean(english: str, run: Run) -> None:
    cause, code, args, said = SAID[english]
    written(run, cause, english)
    migration.read_all(apps, connection.schema_editor())
    assert row(run)[:2] == (code, args)
    assert run.detail == (said or english)
    with translation.override("ko"):
        assert run.detail not in (english, said), "the pair is one that our code wrote"


@pytest.mark.parametrize(("cause", "english"), NOBODYS)
def test_words_that_are_no_sentence_of_its_stay(cause: str, english: str, run: Run) -> None:
    written(run, cause, english)
    migration.read_all(apps, connection.schema_editor())
    assert row(run) == ("", None, english)


def test_every_batch_is_read_and_what_has_a_code_stays(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "AT_ONCE", 2)
    make_people(project, 1)
    runs = [make_run(project, name=f"Sale {number}") for number in range(6)]
    for one in runs[:5]:
        written(one, Cause.BY_HAND, "It was user:ada.")
    ours = {"state": Run.State.PAUSED, "cause": Cause.LATE, "cause_detail": "It was due 3 h ago."}
    Run.objects.filter(pk=runs[5].pk).update(**ours, detail_code="tea_only")
    for _again in range(2):
        migration.read_all(apps, connection.schema_editor())
        assert [row(one)[0] for one in runs] == ["by_hand"] * 5 + ["tea_only"]
