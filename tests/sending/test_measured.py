"""What sending measures of itself stands in `/metrics`, by project and lane."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.utils import timezone

from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.claiming import claim
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.keys.credentials import ServiceAccount
from notifications.measures import by_project
from notifications.measures.measure import Count, Histogram
from notifications.people.project import Project
from tests.given.builders import make_people, make_project, make_run
from tests.given.by_hand import send_everything
from tests.given.private_key import another_private_key
from tests.given.scraped import scraped, values
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db(transaction=True)


def grown(name: str, work: Callable[[], object], **labels: str) -> float:
    before = scraped(name, **labels)
    work()
    return scraped(name, **labels) - before


def test_requests_are_counted_by_what_their_answers_mean(project: Project, fcm: Fcm) -> None:
    make_people(project, ["", "", "dead-1:APA91b", "flaky-1:x"])
    run = make_run(project)
    requests = scraped("carillon_fcm_requests_total", project=project.slug, lane="bulk")
    timed = scraped("carillon_fcm_seconds_count", project=project.slug, lane="bulk")
    retries = scraped("carillon_retries_total", project=project.slug, lane="bulk")
    dead = scraped("carillon_fcm_requests_total", project=project.slug, verdict="dead_address")
    accepted = scraped("carillon_recipients_total", project=project.slug, status="accepted")

    send_everything(run)

    ours = {"project": project.slug, "lane": "bulk"}
    assert scraped("carillon_fcm_requests_total", **ours) == requests + 4
    assert scraped("carillon_fcm_requests_total", verdict="dead_address", **ours) == dead + 1
    assert scraped("carillon_recipients_total", status="accepted", **ours) == accepted + 2
    assert scraped("carillon_fcm_seconds_count", **ours) == timed + 4
    assert scraped("carillon_fcm_seconds_bucket", le="+Inf", **ours) == timed + 4
    assert scraped("carillon_retries_total", **ours) == retries + 1


COUNTED = [
    ("carillon_fcm_requests_total", {"lane": "bulk", "verdict": "unauthorised"}),
    ("carillon_fcm_requests_total", {"lane": "urgent", "verdict": "platform_key"}),
    ("carillon_recipients_total", {"lane": "bulk", "status": "unknown"}),
    ("carillon_retries_total", {"lane": "urgent", "reason": "unavailable"}),
    ("carillon_gate_waits_total", {"lane": "bulk", "limit": "quota"}),
    ("carillon_gate_wait_seconds_total", {"lane": "bulk", "limit": "quota"}),
    ("carillon_lease_takeovers_total", {}),
    ("carillon_receipts_total", {"event": "opened"}),
]


@pytest.mark.parametrize("in_files", [True, False])
def test_every_counter_of_a_new_project_stands_at_zero(
    project: Project, settings: LazySettings, tmp_path: Path, in_files: bool
) -> None:
    """Else Prometheus would see no growth in what was counted first."""
    settings.METRICS_DIR = str(tmp_path) if in_files else ""
    make_project(slug="newcomer")
    found = [values(name, project="newcomer", **labels) for name, labels in COUNTED]
    assert found == [[0.0]] * len(COUNTED)
    assert values("carillon_lease_takeovers_total", project="other") == []


def test_a_key_that_google_refuses_is_counted_before_anything_left(
    project: Project, fcm: Fcm
) -> None:
    """The token is refused, so no request leaves at all: that too is a refusal of us."""
    make_people(project, 2)
    ServiceAccount.store(project, {**fcm.service_account, "private_key": another_private_key()})
    run = make_run(project)
    refused = {"project": project.slug, "lane": "bulk", "verdict": "unauthorised"}
    before = scraped("carillon_fcm_requests_total", **refused)

    assert send_everything(run) == {}

    run.refresh_from_db()
    assert (run.state, run.cause) == (Run.State.PAUSED, Cause.BAD_CREDENTIALS)
    assert fcm.witness() == []
    assert scraped("carillon_fcm_requests_total", **refused) == before + 1


def test_a_project_without_a_key_is_counted_as_refused(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    ServiceAccount.objects.all().delete()
    refused = {"project": project.slug, "lane": "bulk", "verdict": "unauthorised"}
    before = scraped("carillon_fcm_requests_total", **refused)
    assert send_everything(run) == {}
    assert scraped("carillon_fcm_requests_total", **refused) == before + 1


def test_what_the_gate_holds_back_is_told_with_its_reason(project: Project, fcm: Fcm) -> None:
    make_people(project, 2)
    run = make_run(project, rate_per_second=4)
    ours = {"project": project.slug, "lane": "bulk", "limit": "rate"}
    waits = scraped("carillon_gate_waits_total", **ours)
    seconds = scraped("carillon_gate_wait_seconds_total", **ours)
    assert send_everything(run) == {"accepted": 2}
    assert scraped("carillon_gate_waits_total", **ours) > waits
    assert 0 < scraped("carillon_gate_wait_seconds_total", **ours) - seconds < 5


def test_a_chunk_that_is_taken_over_is_counted_once(project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    claim(run.pk, 1, run.epoch, task_id=None)
    long_ago = timezone.now() - timedelta(minutes=2)
    Chunk.objects.update(lease_until=long_ago, doubted_at=long_ago + timedelta(seconds=1))

    def look() -> None:
        engine.advance(run.pk, now=timezone.now())

    assert grown("carillon_lease_takeovers_total", look, project=project.slug) == 1
    assert grown("carillon_lease_takeovers_total", look, project=project.slug) == 0


def test_receipts_are_counted_by_event_and_no_repeated_one(project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    said = [
        Report(run.pk, 1, Event.OPENED, None),
        Report(run.pk, 2, Event.OPENED, None),
        Report(run.pk, 2, Event.RECEIVED, None),
    ]
    opened = {"project": project.slug, "event": "opened"}
    assert grown("carillon_receipts_total", lambda: keep(said), **opened) == 2
    assert grown("carillon_receipts_total", lambda: keep(said), project=project.slug) == 0


def test_only_the_oldest_projects_have_a_label_of_their_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_project._is_shown.cache_clear()
    monkeypatch.setattr(by_project, "SHOWN", 2)
    second, third = make_project(slug="second"), make_project(slug="third")
    labels = [by_project.label_of(each) for each in (third, second, project)]
    assert labels == ["other", "second", project.slug]
    by_project._is_shown.cache_clear()


def test_many_at_once_are_the_same_as_one_by_one(settings: LazySettings) -> None:
    settings.METRICS_DIR = ""
    spread = Histogram("carillon_test_seconds", "Of this test.", ("lane",), (0.1, 1))
    seconds = [0.05, 0.1, 0.5, 1, 7]
    for each in seconds:
        spread.histogram.labels("one by one").observe(each)
    spread.add_all(seconds, "at once")
    one_by_one, at_once = (
        {
            (sample.name, sample.labels.get("le")): sample.value
            for family in spread.histogram.collect()
            for sample in family.samples
            if sample.labels["lane"] == lane and not sample.name.endswith("_created")
        }
        for lane in ("one by one", "at once")
    )
    assert at_once == one_by_one


def test_a_folder_that_cannot_be_written_is_said_once(
    settings: LazySettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    count = Count("carillon_test_total", "Of this test.", {"lane": ("bulk",)})

    def fail(*labels: str) -> None:
        raise OSError("disk full")

    count.counter.labels = fail  # type: ignore[method-assign,assignment]
    count.add(1, "bulk")
    count.add(1, "bulk")
    assert caplog.text.count("not measured here: carillon_test_total") == 1
