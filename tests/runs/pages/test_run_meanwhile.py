"""What a run's page says between two states: closing after a cancel, paused after a moment."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.engine import engine, freezing
from campaigns.runs.reasons import Cause
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_people, make_run
from tests.runs.pages.course import cells_of, settle

pytestmark = pytest.mark.django_db


def test_a_cancelled_run_tells_its_end_and_which_chunks_were_never_sent(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "size_for", lambda _: 2)
    make_people(project, 4)
    run = make_run(project)
    settle(run, 1, "accepted")
    run.chunks.filter(number=1).update(attempt=1)
    run.cancel()
    asked = {"seen": "cancelled-2"}
    closing = desk.client.get(reverse("admin:run_live", args=[run.pk]), asked)
    assert "It was cancelled" not in text_of(closing)

    engine.advance(run.pk, now=timezone.now())
    ended = desk.client.get(reverse("admin:run_live", args=[run.pk]), asked)
    assert "It was cancelled after FCM accepted 1 of 4." in text_of(ended)
    assert cells_of(ended.content.decode()) == "cn"
    assert "Closed, never sent to: 1" in text_of(ended)


def test_a_short_run_with_answers_does_not_wait_for_its_first(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    assert "The line begins with the first answers." in desk.open("campaigns_run_change", run.pk)
    settle(run, 1, "accepted")
    run.pause(Cause.BY_HAND)
    text = desk.open("campaigns_run_change", run.pk)
    assert "Too short for a chart so far." in text and "first answers" not in text
