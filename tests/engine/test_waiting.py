"""A chunk that has to wait frees its worker, and comes back neither too early nor in crumbs."""

from __future__ import annotations

from datetime import timedelta
from math import ceil

import pytest
from django.conf import LazySettings
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs import sums
from campaigns.runs.ledger import Retry
from campaigns.sending import sending
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.forgetting import flush_gate
from tests.servers.fcm import Fcm


def test_a_slow_project_puts_no_long_queue_before_the_others(project: Project) -> None:
    project.quota_per_minute = 30_000
    project.save()
    make_people(project, 12_000)

    run = make_run(project)

    allowed = 30_000 / 60 * 0.8
    assert run.chunks.filter(state="queued").count() == ceil(engine.AHEAD_SECONDS * allowed / 1_000)
    assert run.chunks.count() == 12


def test_a_worker_does_not_rest_long_at_the_gate_for_one_chunk(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "MAX_REST", 0.4)
    project.quota_per_minute = 6_000
    project.save()
    make_people(project, 500)
    run = make_run(project)

    settled = sending.send(run.pk, 1, run.epoch)

    assert settled.get("accepted", 0) < 500
    chunk = run.chunks.get()
    assert (chunk.state, chunk.not_before) == ("waiting", None), "the next turn is soon"


def test_a_closed_gate_is_asked_once_not_at_every_due_retry(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    make_people(project, 5)
    run = make_run(project)
    fcm.script("answer", answer="quota", retry_after=120)
    sending.send(run.pk, 1, run.epoch)
    asked = fcm.counts()["requests"]
    assert Retry.objects.exists(), "those on their way before the first answer"
    long_ago = timezone.now() - timedelta(minutes=30)
    Retry.objects.update(first_tried_at=long_ago, not_before=long_ago)
    run.chunks.update(state="queued", not_before=None)

    sending.send(run.pk, 1, run.epoch)

    soon = timezone.now() + timedelta(seconds=60)
    assert all(engine.advance(run.pk, now=soon) is None for _ in range(5))
    assert run.chunks.filter(state="waiting", not_before__gt=soon).exists(), "when the gate opens"
    assert fcm.counts()["requests"] == asked


def test_a_flushed_gate_is_closed_again_by_a_process_that_remembers(
    project: Project, fcm: Fcm, settings: LazySettings
) -> None:
    make_people(project, 300)
    run = make_run(project)
    fcm.script("answer", answer="quota", retry_after=120)
    sending.send(run.pk, 1, run.epoch)
    asked = fcm.counts()["requests"]
    flush_gate()
    run.chunks.update(state="queued", not_before=None)

    sending.send(run.pk, 1, run.epoch)

    assert fcm.counts()["requests"] == asked
    assert run.chunks.filter(not_before__gt=timezone.now() + timedelta(seconds=60)).exists()
    assert sums.totals_of(run).waiting == 300


def test_retries_that_are_due_one_after_the_other_go_together(project: Project, fcm: Fcm) -> None:
    make_people(project, [f"flaky-{number}:x" for number in range(40)])
    run = make_run(project)

    sending.send(run.pk, 1, run.epoch)

    first = Retry.objects.order_by("not_before").values_list("not_before", flat=True)[0]
    assert run.chunks.filter(not_before__gte=first + timedelta(seconds=1)).exists()
