"""Each reads the text of their group, and who is to get nothing gets nothing, whatever dies."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.results import reports
from campaigns.runs import claiming
from campaigns.runs.chunk import LEASE, Chunk
from campaigns.runs.policy import POLICY
from campaigns.runs.run import Run
from campaigns.runs.variants.variant import RunVariant
from campaigns.sending import sending, settling
from notifications.people.project import Project
from tests.given.builders import make_people
from tests.given.by_hand import let_leases_lapse, work
from tests.servers.fcm import Fcm
from tests.variants.shared import (
    CONTROL,
    HOLDOUT,
    TITLES,
    counts,
    groups,
    groups_by_seq,
    make_split,
    outcomes,
    titles_read,
)


def launched(campaign: Campaign) -> Run:
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def test_everybody_reads_the_text_of_their_group_and_the_control_group_none(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 300)
    Project.objects.filter(pk=project.pk).update(holdout_percent=10)
    run = work(launched(make_split(project, (40, 30, 30), control_percent=20)))

    read, group = titles_read(fcm, run), groups_by_seq(run)
    assert {seq: [TITLES[group[seq]]] for seq in read} == read
    assert {seq for seq in group if group[seq] >= 0} == {*read}
    ends = {(group, status, reason) for group, status, reason in outcomes(run)}
    assert ends == {
        (0, "accepted", ""), (1, "accepted", ""), (2, "accepted", ""),
        (CONTROL, "skipped", "control"), (HOLDOUT, "skipped", "holdout"),
    }  # fmt: skip
    progress = reports.progress(run)
    assert (run.state, progress.totals.planned, progress.totals.waiting) == ("finished", 300, 0)
    assert progress.totals.skipped == counts(run)[CONTROL] + counts(run)[HOLDOUT]


def test_a_worker_that_dies_changes_nobodys_text_and_rings_nobody_of_the_control_group(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 150)
    run = launched(make_split(project, control_percent=30))
    before = groups(run)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying, pytest.raises(KeyboardInterrupt):
        dying.setattr(settling, "settle", dies)
        sending.send(run.pk, 1, run.epoch)
    let_leases_lapse()
    engine.advance(run.pk, now=timezone.now())
    work(run)

    read, group = titles_read(fcm, run), groups_by_seq(run)
    assert groups(run) == before
    assert {seq: {TITLES[group[seq]]} for seq in read} == {seq: {*read[seq]} for seq in read}
    assert not [seq for seq in read if group[seq] == CONTROL]


def test_the_window_itself_refuses_whoever_is_to_get_nothing(project: Project) -> None:
    make_people(project, 40)
    run = launched(make_split(project, control_percent=50))
    claim = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert claim is not None
    opened = claim.open_window(sorted(groups_by_seq(run)), timezone.now())
    assert opened is not None
    nothing = {seq for seq, group in groups_by_seq(run).items() if group == CONTROL}
    assert nothing and nothing.isdisjoint(opened.seqs)
    assert set(opened.out) == nothing


def test_who_is_to_get_nothing_finds_nothing_in_the_inbox_either(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 40)
    run = work(launched(make_split(project, control_percent=50, inbox=True)))
    with connection.cursor() as cursor:
        cursor.execute("SELECT contact_id FROM notifications_inboxitem")
        found = {row[0] for row in cursor.fetchall()}
        cursor.execute(
            "SELECT contact_id FROM campaigns_recipient WHERE run_id = %s AND variant >= 0",
            [run.pk],
        )
        assert found == {row[0] for row in cursor.fetchall()}


def test_a_variant_that_was_sent_is_never_changed(project: Project) -> None:
    run = launched(make_split(project))
    with pytest.raises(Exception, match="never changed"), transaction.atomic():
        RunVariant.objects.filter(run=run).update(content={})


# --- Beside the release before --------------------------------------------------------------------


def old_claim(run: Run) -> int:
    """As the release before leases a chunk: it does not say that it knows of groups."""
    queued = Chunk.objects.filter(run=run, number=1, state=Chunk.State.QUEUED)
    return queued.update(state="leased", lease_until=Now() + LEASE, attempt=F("attempt") + 1)


def test_an_old_worker_cannot_have_a_chunk_with_groups_and_ours_can(project: Project) -> None:
    make_people(project, 10)
    split, plain = launched(make_split(project)), launched(make_split(project, (1,)))
    assert old_claim(split) == 0
    split.chunks.get(state="queued", attempt=0)
    assert claiming.claim(split.pk, 1, split.epoch, task_id=None) is not None
    assert old_claim(plain) == 1


def old_freeze(run: Run) -> int:
    """As the release before ends a part: it counts the people it froze, and gives no groups."""
    return Run.objects.filter(pk=run.pk).update(state="sending", planned=10, people=10)


@pytest.mark.parametrize(("holdout", "weights"), [(0, (50, 50)), (10, (1,))])
def test_an_old_control_worker_freezes_nobody_who_should_have_a_group(
    project: Project, holdout: int, weights: tuple[int, ...]
) -> None:
    Project.objects.filter(pk=project.pk).update(holdout_percent=holdout)
    run = control.launch(make_split(project, weights), by="user:alice", now=timezone.now())
    assert old_freeze(run) == 0
    plain = control.launch(
        make_split(project, (1,), past_holdout=True), by="user:alice", now=timezone.now()
    )
    assert old_freeze(plain) == 1


OLD_INSERT = """
INSERT INTO campaigns_run (kind, campaign_id, project_id, occurrence, state, epoch, cause,
    cause_detail, held_platforms, overruled, content, rules, on_unknown, ttl_seconds,
    analytics_label, max_lateness_seconds, scheduled_at, launched_by, launched_at,
    accepted, rejected, skipped, unknown)
SELECT 'campaign', id, project_id, %s, 'scheduled', 0, '', '', '{}', '{}', '{"title": "A"}', '{}',
    'resend', 60, '', 60, now(), 'user:old', now(), 0, 0, 0, 0
FROM campaigns_campaign WHERE id = %s RETURNING id
"""


def old_insert(campaign_id: int, occurrence: str) -> Run:
    with connection.cursor() as cursor:
        cursor.execute(OLD_INSERT, [occurrence, campaign_id])
        return Run.objects.get(pk=cursor.fetchone()[0])


def test_an_old_page_cannot_launch_a_campaign_with_variants_or_a_control_group(
    project: Project,
) -> None:
    for campaign in (make_split(project), make_split(project, (1,), control_percent=5)):
        with pytest.raises(IntegrityError), transaction.atomic():
            old_insert(campaign.pk, "once")
    assert old_insert(make_split(project, (1,)).pk, "once").split == {}


def test_a_series_that_an_old_control_worker_continues_keeps_its_groups(project: Project) -> None:
    campaign = make_split(
        project, schedule_kind="recurring", repeat="daily", control_percent=10,
        at=datetime(2031, 5, 7, tzinfo=UTC),
    )  # fmt: skip
    first = control.launch(campaign, by="user:alice", now=timezone.now())
    next_one = old_insert(campaign.pk, "2031-05-08T00:00:00+00:00")
    assert next_one.control_percent == 10
    assert next_one.split == {**first.split, "texts": first.pk}
    assert "control_percent" in POLICY
