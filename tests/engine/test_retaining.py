"""Old rows go by themselves: events, and who was in old runs, each project by its own days."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import tasks
from campaigns.audiences.audience import Audience
from campaigns.engine import engine, forgetting, retaining
from campaigns.planning import schedule
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people import old_imports as imports
from notifications.people.contact import Contact
from notifications.people.events import clearing, partitions, reading
from notifications.people.events.months import Month
from notifications.people.events.writing import Event, write
from notifications.people.importing.model import Import, ImportRefusal
from notifications.people.project import Project
from notifications.people.retention import Retention
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_contact, make_people, make_project, make_run

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def keep(project: Project, kind: str, days: int | None) -> None:
    Retention.objects.update_or_create(project=project, kind=kind, defaults={"days": days})


def happened(person: Contact, *days_ago: float) -> None:
    events = [Event(person.external_id, "bought", NOW - timedelta(days=one)) for one in days_ago]
    assert not write(person.project_id, events)


def left(person: Contact) -> list[int]:
    return [(NOW - one.at).days for one in reading.newest_of(person.pk)]


# --- Events ---------------------------------------------------------------------------------------


def test_events_older_than_the_days_of_their_project_are_removed() -> None:
    short, long, ever = (make_contact(make_project()) for _ in range(3))
    keep(short.project, "events", 10)
    keep(long.project, "events", 40)
    keep(ever.project, "events", None)
    for person in (short, long, ever):
        happened(person, 1, 9, 12, 39, 42, 500)
    tasks.tidy()
    assert left(short) == [1, 9]
    assert left(long) == [1, 9, 12, 39]
    assert left(ever) == [1, 9, 12, 39, 42, 500]


def test_a_month_that_every_project_may_lose_is_dropped_whole() -> None:
    ada, bob = (make_contact(make_project()) for _ in range(2))
    old = Month.of_moment(NOW - timedelta(days=100))
    for person in (ada, bob):
        keep(person.project, "events", 30)
        happened(person, 1, 100)
    keep(bob.project, "events", None)
    tasks.tidy()
    assert old in partitions.there()  # bob's are in it
    assert (left(ada), left(bob)) == ([1], [1, 100])
    keep(bob.project, "events", 60)
    tasks.tidy()
    assert old not in partitions.there()
    assert Month.of_moment(NOW) in partitions.there()
    assert left(bob) == [1]


def test_a_project_that_keeps_events_for_ever_but_has_none_holds_no_month_back() -> None:
    ada = make_contact(make_project())
    keep(make_project(), "events", None)
    keep(ada.project, "events", 30)
    happened(ada, 100)
    tasks.tidy()
    assert Month.of_moment(NOW - timedelta(days=100)) not in partitions.there()


def test_events_are_kept_400_days_by_default() -> None:
    ada = make_contact(make_project())
    happened(ada, 399, 402)
    tasks.tidy()
    assert left(ada) == [399]


def test_a_removal_goes_on_where_the_last_one_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clearing, "PAGES", 1)
    ada = make_contact(make_project())
    keep(ada.project, "events", 30)
    happened(ada, *[40 + n / 1000 for n in range(500)], 1)
    happened(make_contact(make_project()), 40)  # whose project keeps them: no month is dropped
    assert retaining.delete_expired(now=NOW, seconds=0)
    assert 1 < len(left_all(ada)) < 501
    passes = [retaining.delete_expired(now=NOW, seconds=0) for _ in range(10)]
    assert passes[0] and not passes[-1]
    assert left(ada) == [1]


def left_all(person: Contact) -> list[datetime]:
    return [one.at for one in reading.newest_of(person.pk, 1_000)]


def test_a_pass_creates_the_partitions_of_this_month_and_the_next() -> None:
    tasks.tidy()
    assert {Month.of_moment(NOW), Month.of_moment(NOW).following} <= set(partitions.there())


def test_rows_to_be_removed_are_counted_before_their_removal() -> None:
    ada = make_contact(make_project())
    happened(ada, 1, 20, 50)
    happened(make_contact(make_project()), 70)
    kept = clearing.look(ada.project_id, NOW - timedelta(days=30))
    assert (kept.there, kept.older, kept.exact) == (3, 1, True)
    assert kept.next_at == NOW - timedelta(days=20)
    assert clearing.look(ada.project_id, None).older == 0


# --- Who was in old runs --------------------------------------------------------------------------


@pytest.fixture
def project() -> Project:
    project = make_project()
    make_people(project, 2)
    keep(project, "ledger", 30)
    return project


def ended(project: Project, *, days_ago: int) -> Run:
    run = make_run(project, name=f"Run of {days_ago} days ago")
    run.cancel()
    engine.advance(run.pk, now=NOW)
    Run.objects.filter(pk=run.pk).update(finished_at=NOW - timedelta(days=days_ago))
    return run


def people_in(run: Run) -> int:
    return Recipient.objects.filter(run_id=run.pk).count()


def test_the_recipients_of_an_old_run_are_removed_and_the_run_stays(project: Project) -> None:
    old, young = ended(project, days_ago=32), ended(project, days_ago=29)
    assert retaining.LEDGER.look(project.pk, NOW - timedelta(days=30)).older == 2
    tasks.tidy()
    assert (people_in(old), people_in(young)) == (0, 2)
    old.refresh_from_db()
    assert old.forgotten_at and old.planned == 2
    entry = AuditEntry.objects.get(action="removed the recipients of")
    assert (entry.actor, entry.subject_id) == ("carillon", old.pk)


def test_runs_are_kept_for_ever_until_somebody_says_otherwise(project: Project) -> None:
    Retention.objects.all().delete()
    old = ended(project, days_ago=3_000)
    tasks.tidy()
    assert people_in(old) == 2


def test_an_unfinished_run_is_never_forgotten(project: Project) -> None:
    run = make_run(project)
    Run.objects.update(launched_at=NOW - timedelta(days=400))
    tasks.tidy()
    assert people_in(run) == 2


def test_a_run_that_rules_name_is_not_forgotten(project: Project) -> None:
    named, other = ended(project, days_ago=40), ended(project, days_ago=41)
    rule = {"field": "run", "op": "was_not", "value": {"outcome": "accepted", "run": named.pk}}
    Audience.objects.create(project=project, name="Not reached", rules={"all": [rule]})
    tasks.tidy()
    assert (people_in(named), people_in(other)) == (2, 0)


def test_the_last_run_of_a_series_that_goes_on_is_not_forgotten(project: Project) -> None:
    at = NOW + timedelta(hours=1)
    run = make_run(project, advanced=False, schedule_kind="recurring", repeat="daily", at=at)
    schedule.start_due(at)
    engine.advance(run.pk, now=at)
    run.refresh_from_db()
    run.cancel()
    Run.objects.filter(pk=run.pk).update(finished_at=NOW - timedelta(days=40))
    assert run.pk in forgetting.needed(project.pk)
    assert people_in(run) == 2
    tasks.tidy()
    assert people_in(run) == 2


# --- Imports --------------------------------------------------------------------------------------


def imported(project: Project, *, days_ago: int, state: str) -> Import:
    old = NOW - timedelta(days=days_ago)
    ended = old if state in ("finished", "failed") else None
    one = Import.objects.create(project=project, name="people.csv", size=3, by="user:ada",
                                state=state, finished_at=ended, problem="x")  # fmt: skip
    Import.objects.filter(pk=one.pk).update(created_at=old)
    one.parts.create(number=0, content=b"a,b", size=3, digest="x")
    one.batches.create(number=0, contact_ids=[1])
    one.refusals.bulk_create(ImportRefusal(owner=one, line=n, cells=["a"]) for n in range(25))
    return one


def test_an_old_import_loses_its_file_and_refused_rows_and_keeps_its_result(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "ROWS_AT_ONCE", 10)
    keep(project, "imports", 30)
    old, young = (imported(project, days_ago=days, state="finished") for days in (32, 29))
    assert imports.look(project.pk, NOW - timedelta(days=30)).older == 1
    tasks.tidy()
    assert (old.parts.count(), old.batches.count(), old.refusals.count()) == (0, 0, 0)
    assert (young.parts.count(), young.refusals.count()) == (1, 25)
    assert Import.objects.filter(pk=old.pk).exists()
    assert imports.look(project.pk, NOW).there == 1


def test_looking_at_old_imports_reads_no_more_than_one_refused_row_of_each(
    project: Project,
) -> None:
    large = imported(project, days_ago=1, state="finished")
    large.refusals.bulk_create(ImportRefusal(owner=large, line=n, cells=["a"]) for n in range(5000))
    for _ in range(60):
        Import.objects.create(project=project, name="x", size=1, by="user:ada", state="finished",
                              finished_at=NOW)  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE notifications_importrefusal, notifications_import")
    with CaptureQueriesContext(connection) as queries:
        assert imports.look(project.pk, NOW).there == 1
    for one in queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {one['sql']}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
        assert "Seq Scan on notifications_importrefusal" not in plan


def test_an_unfinished_old_import_is_removed_whole(project: Project) -> None:
    stale = imported(project, days_ago=92, state="ready")
    young = imported(project, days_ago=88, state="ready")
    tasks.tidy()  # kept 90 days without a word of anybody
    assert list(Import.objects.all()) == [young]
    assert not ImportRefusal.objects.filter(owner=stale.pk).exists()


def test_an_import_that_is_being_worked_on_is_kept_however_old(project: Project) -> None:
    keep(project, "imports", 1)
    working = imported(project, days_ago=50, state="merging")
    tasks.tidy()
    assert (working.parts.count(), working.refusals.count()) == (1, 25)
