"""Each reads the text of their group, and who is to get nothing gets nothing, whatever dies."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.results import reports
from campaigns.runs import claiming
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
