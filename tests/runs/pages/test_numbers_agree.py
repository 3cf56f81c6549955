"""Numbers of a run: a few of very many stay a few, and one fact has one number on every page."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.results import reports
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Retry, Window
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.values.shares import share, width
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_people, make_run, make_scheduled_run
from tests.variants.shared import CONTROL, HOLDOUT, counts, make_split

pytestmark = pytest.mark.django_db
ALL = 75_988


def ended(project: Project, *, seconds: float = 40, **counts: int) -> Run:
    """A run that came to these numbers in so many seconds."""
    run = make_run(project)
    now = timezone.now()
    Chunk.objects.create(
        run=run,
        number=1,
        first_seq=1,
        last_seq=sum(counts.values()),
        state=Chunk.State.CLOSED,
        **counts,
    )
    Run.objects.filter(pk=run.pk).update(
        state=Run.State.FINISHED, planned=sum(counts.values()), unfrozen=None,
        started_at=now - timedelta(seconds=seconds), finished_at=now, **counts,
    )  # fmt: skip
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 0, "0"), (0, 9, "0"), (9, 9, "100"), (3, ALL, "< 0.01"), (ALL - 3, ALL, "> 99.99"),
        (1, 10_000, "0.01"), (4, 10_000, "0.04"), (1, 1_000, "0.1"), (1, 3, "33.3"),
        (9_995, 10_000, "99.95"), (9_999, 10_000, "99.99"), (1, 2, "50"), (4, 3, "133.3"),
    ],
)  # fmt: skip
def test_a_share_is_never_rounded_to_nothing_to_all_or_to_ten_times_as_much(
    part: int, whole: int, said: str
) -> None:
    assert share(part, whole) == said
    assert re.fullmatch(r"\d+(\.\d)?", width(part, whole))


def test_three_of_very_many_are_not_a_tenth_of_a_per_cent(desk: Desk, project: Project) -> None:
    run = ended(project, accepted=ALL - 3, rejected=3)
    Chunk.objects.filter(run=run).update(reasons={"invalid_argument": 3})
    page = desk.open("campaigns_run_change", run.pk)
    assert "> 99.99 % accepted" in page and "3 < 0.01 %" in page
    assert "0.1 %" not in page and "100 % accepted" not in page
    html = desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk])).content.decode()
    assert 'style="width: 0.1%"' in html and 'aria-valuenow="100"' in html
    listed = desk.open("campaigns_run_changelist")
    assert f"{ALL - 3:,} of {ALL:,} (> 99.99 %)" in listed


def test_an_ended_run_has_one_average_on_its_page_and_for_programs(
    desk: Desk, project: Project
) -> None:
    run = ended(project, seconds=40, accepted=8_000, skipped=500, rejected=400)
    assert run.started_at
    for at in (run.started_at + timedelta(seconds=10), run.started_at + timedelta(seconds=20)):
        Window.objects.create(
            run=run, chunk=run.chunks.get(number=1), attempt=1, seqs=list(range(200)),
            opened_at=at, settled_at=at,
        )  # fmt: skip
    assert reports.progress(run).rate_per_second == 8_400 / 40
    page = desk.open("campaigns_run_change", run.pk)
    assert "Rate, on average 210 a second" in page and "on average 210." in page


def test_a_waiting_run_is_said_to_be_as_fast_as_its_launch_said(
    desk: Desk, project: Project, settings: LazySettings
) -> None:
    settings.WORKERS = 2
    ended(project, seconds=60, accepted=1_200)
    make_people(project, 600)
    run = make_scheduled_run(project, at=timezone.now() + timedelta(days=1))
    said = {"rate": "20", "limit": "as fast as your last run"}
    assert "About {rate}: {limit}.".format(**said) in desk.open("campaigns_run_change", run.pk)
    campaign = make_campaign(project)
    for text in (
        desk.open("campaign_review", campaign.pk),
        desk.open("campaigns_campaign_launch", campaign.pk),
    ):
        assert "30 s, at {rate} a second ({limit})".format(**said) in text


def test_a_run_that_is_prepared_counts_nobody_for_its_pace(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any) -> None:
        raise AssertionError("its page asks each second")

    run = make_run(project, advanced=False)
    monkeypatch.setattr("campaigns.audiences.reach.quick", refuse)
    assert run.planned is None
    assert "At most" in desk.open("campaigns_run_change", run.pk)


def test_the_shares_of_a_cancelled_run_are_of_whom_fcm_was_asked_for(
    desk: Desk, project: Project
) -> None:
    """As those of any other run: on its page, in the lists and beside another."""
    run = ended(project, accepted=1_996, skipped=626, unknown=4)
    Run.objects.filter(pk=run.pk).update(state=Run.State.CANCELLED)
    page = desk.open("campaigns_run_change", run.pk)
    assert "1,996 of 2,626 accepted" in page and "76 %" not in page
    assert "It was cancelled after FCM accepted 1,996 of 2,626." in page
    assert "Its share is of the 2,000 FCM is asked for; whoever is skipped" in page
    assert [
        "1,996 of 2,626" in desk.open(page)
        for page in ("campaigns_run_changelist", "campaigns_campaign_changelist", "index")
    ] == [True, True, True]
    another = ended(project, accepted=9)
    beside = desk.client.get(
        reverse("admin:run_compare", args=[run.pk]), {"with": another.pk}
    ).content.decode()
    assert '1,996 <small class="c-hint">99.8 %</small>' in beside


def test_who_can_tell_is_said_to_be_of_all_who_may_have_got_it(
    desk: Desk, project: Project
) -> None:
    """Of an unknown outcome the phone may tell as well: it is one of them, and not accepted."""
    Project.objects.filter(pk=project.pk).update(asks_receipts=True)
    run = ended(project, accepted=1_996, skipped=626, unknown=4)
    page = desk.open("campaigns_run_change", run.pk)
    assert "Can tell, of all who may have got it" in page
    assert "2,000 devices may have got it: 1,996 are accepted, of 4 nobody knows." in page
    Chunk.objects.filter(run=run).update(accepted=2_000, unknown=0)
    assert "nobody knows" not in desk.open("campaigns_run_change", run.pk)


def test_the_dialog_that_cancels_counts_apart_whose_request_has_left(
    desk: Desk, project: Project
) -> None:
    """And so it comes: they are unknown then, and the others skipped."""
    make_people(project, 5)
    run = make_run(project)
    chunk = run.chunks.get()
    Window.objects.create(run=run, chunk=chunk, attempt=1, seqs=[1, 2], opened_at=timezone.now())
    for seq, ambiguous in ((2, True), (3, True), (4, False)):
        Retry.objects.create(
            run=run, chunk=chunk, seq=seq, tries=1, not_before=timezone.now(),
            reason="unanswered", ambiguous=ambiguous,
        )  # fmt: skip
    said = desk.open("campaigns_run_cancel", run.pk)
    assert "2 of 5 recipients will not get it." in said
    assert "For 3 more a request has left already: they may get it." in said

    desk.confirm("campaigns_run_cancel", run.pk)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.skipped, run.unknown) == (2, 3)


def test_the_dialog_that_cancels_counts_the_control_group_apart(
    desk: Desk, project: Project
) -> None:
    """They would get nothing either way."""
    make_people(project, 40)
    Project.objects.filter(pk=project.pk).update(holdout_percent=10)
    campaign = make_split(project, control_percent=30)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    nothing = sum(count for group, count in counts(run).items() if group in (CONTROL, HOLDOUT))
    assert nothing

    said = desk.open("campaigns_run_cancel", run.pk)

    assert f"{40 - nothing} of {40 - nothing} recipients will not get it." in said
    assert f"{nothing} more, in the control group or the holdout, get nothing either way." in said
