"""People erased between two runs: they are compared by numbers, and their totals still balance."""

from __future__ import annotations

from campaigns.results import compare, reports
from campaigns.results.compare import Who
from campaigns.runs import sums
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.by_hand import work
from tests.servers.fcm import Fcm


def listed(newer: Run, older: Run, who: Who) -> list[str | None]:
    return [one.external_id for one in compare.people(newer, older, who, after=0, limit=50)]


def test_who_was_erased_between_two_runs_has_left_and_the_totals_balance(
    project: Project, fcm: Fcm
) -> None:
    ann, bea, cleo = (make_contact(project, external_id=name) for name in ("ann", "bea", "cleo"))
    for contact in (ann, bea, cleo):
        make_device(contact)
    make_device(ann, platform="ios")
    older = work(make_run(project))
    told = (older.recipients_hash, older.people, older.planned)
    ann.delete()
    dan = make_contact(project, external_id="dan")
    make_device(dan)
    newer = work(make_run(project))

    counts = compare.counts(newer, older)
    assert (counts.joined, counts.left, counts.both) == (1, 1, 2)
    assert listed(newer, older, Who.LEFT) == [None]
    assert listed(newer, older, Who.JOINED) == ["dan"]

    bea.delete()  # after both
    counts = compare.counts(newer, older)
    assert (counts.joined, counts.left, counts.both) == (1, 1, 2)
    assert listed(newer, older, Who.BOTH) == [None, "cleo"]
    for run in (older, newer):
        run.refresh_from_db()
        assert reports.recount(run) == sums.totals_of(run)
        assert sums.totals_of(run).accepted == run.planned
        assert Delivery.objects.filter(run_id=run.pk).count() == run.planned
        assert Recipient.objects.filter(run_id=run.pk).count() == run.planned
    assert (older.recipients_hash, older.people, older.planned) == told
    assert older.recipients_hash != newer.recipients_hash


def test_who_was_erased_and_came_back_is_somebody_else(project: Project, fcm: Fcm) -> None:
    make_device(make_contact(project, external_id="ann"))
    older = work(make_run(project))
    Contact.objects.get(external_id="ann").delete()
    make_device(make_contact(project, external_id="ann"))
    newer = work(make_run(project))
    counts = compare.counts(newer, older)
    assert (counts.joined, counts.left, counts.both) == (1, 1, 0)
    assert (listed(newer, older, Who.JOINED), listed(newer, older, Who.LEFT)) == (["ann"], [None])


def test_who_is_erased_while_a_run_waits_is_skipped_and_everybody_is_counted_once(
    project: Project, fcm: Fcm
) -> None:
    devices = make_people(project, 6)
    run = make_run(project)
    before = run.recipients_hash
    for device in devices[:2]:
        device.contact.delete()
    run = work(run)
    assert (run.state, run.recipients_hash) == ("finished", before)
    totals = sums.totals_of(run)
    assert (totals.accepted, totals.skipped, totals.waiting) == (4, 2, 0)
    assert reports.recount(run) == totals and reports.reasons_of(run) == {"device_gone": 2}
