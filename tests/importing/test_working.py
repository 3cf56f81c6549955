"""Who works on an import, what a crash costs, and that nothing is done twice or half."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from campaigns import tasks as campaign_tasks
from notifications import imports, tasks
from notifications.people.contact import Contact
from notifications.people.importing import import_worker, model, staging
from notifications.people.importing.merging import parallel_merge
from notifications.people.importing.merging.merge_part import Part, contact_ids
from notifications.people.importing.model import Import, claim
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_contact, make_project
from tests.given.importing import BY, check, mapped, merge, upload, work

ROWS = 50
TEXT = "id,n\n" + "".join(f"u{n:02},{n}\n" for n in range(ROWS))


@pytest.fixture
def shop(db: None, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(parallel_merge, "PEOPLE_AT_ONCE", 10)
    return make_project()


def started(project: Project) -> Import:
    one = mapped(upload(project, TEXT))
    imports.start(one, by=BY, now=timezone.now())
    return one


def until_merged(one: Import, count: int) -> None:
    for _ in range(50):
        imports.work(one.pk, seconds=0)
        one.refresh_from_db()
        if one.handled >= count:
            return
    raise AssertionError("it never came so far")


def numbers(project: Project) -> list[int]:
    return sorted(each.attributes["n"] for each in Contact.objects.filter(project=project))


def test_the_task_enqueues_itself_until_it_is_done(
    shop: Project, monkeypatch: pytest.MonkeyPatch, enqueued: list[int]
) -> None:
    one = started(shop)
    monkeypatch.setattr(tasks, "AT_A_TIME", 0)
    tasks.work_on_import(one.pk)
    while enqueued:
        tasks.work_on_import(enqueued.pop())
    one.refresh_from_db()
    assert (one.state, numbers(shop)) == ("finished", list(range(ROWS)))


def test_the_sweep_enqueues_imports_that_nobody_works_on(
    shop: Project, enqueued: list[int]
) -> None:
    one, held = started(shop), started(shop)
    upload(shop, TEXT)
    assert claim(held.pk, now=clock.now())
    campaign_tasks.sweep()
    assert enqueued == [one.pk]
    Import.objects.filter(pk=held.pk).update(leased_until=timezone.now() - timedelta(seconds=1))
    campaign_tasks.sweep()
    assert enqueued == [one.pk, one.pk, held.pk]


def test_two_workers_never_work_on_one_import(shop: Project) -> None:
    one = started(shop)
    assert claim(one.pk, now=clock.now())
    assert imports.work(one.pk, seconds=1) is False
    one.refresh_from_db()
    assert one.rows == 0


def test_a_worker_that_lost_its_lease_writes_nothing(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = started(shop)
    until_merged(one, 10)
    merge_part = Part.merge

    def lose_the_lease(part: Part) -> Counter[str]:
        Import.objects.filter(pk=one.pk).update(lease=99)
        return merge_part(part)

    with monkeypatch.context() as slow:
        slow.setattr(Part, "merge", lose_the_lease)
        imports.work(one.pk, seconds=0)
    one.refresh_from_db()
    assert (one.handled, len(numbers(shop))) == (10, 10)


def test_an_interrupted_part_is_done_again_and_counted_once(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = started(shop)
    until_merged(one, 20)
    broken = iter([True])
    keep = model.keep

    def break_off(*given: Any, **values: Any) -> None:
        if "done_up_to" in values and next(broken, False):
            raise OperationalError("the server went away")
        keep(*given, **values)

    monkeypatch.setattr(parallel_merge, "keep", break_off)
    tasks.work_on_import(one.pk)
    one.refresh_from_db()
    assert (one.state, one.handled, len(numbers(shop))) == ("merging", 20, 20)
    work(one)
    assert (one.counts["created"], numbers(shop)) == (ROWS, list(range(ROWS)))


def test_rows_that_a_crash_of_postgresql_emptied_are_read_again(shop: Project) -> None:
    """What is unlogged is empty after one."""
    one = started(shop)
    until_merged(one, 30)
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {staging.table_of(one)}")
    work(one)
    assert (one.state, one.rows, one.counts["created"]) == ("finished", ROWS, ROWS)
    assert numbers(shop) == list(range(ROWS))


def lose_rows_at(
    where: Any, name: str, monkeypatch: pytest.MonkeyPatch, one: Import, *, call: int
) -> None:
    """As a crash of PostgreSQL does while a pool keeps our connection."""
    real, calls = getattr(where, name), iter(range(call))

    def lose(*given: Any, **more: Any) -> Any:
        if next(calls, None) == call - 1:
            with connection.cursor() as cursor:
                cursor.execute(f"TRUNCATE {staging.table_of(one)}")
        return real(*given, **more)

    monkeypatch.setattr(where, name, lose)


def test_rows_that_are_lost_between_two_parts_are_read_again(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = started(shop)
    lose_rows_at(parallel_merge, "merge_next_parts", monkeypatch, one, call=3)
    work(one)
    assert (one.state, one.handled, one.counts["created"]) == ("finished", ROWS, ROWS)
    assert numbers(shop) == list(range(ROWS))


@pytest.mark.parametrize("call", [4, 8])
def test_rows_that_are_lost_while_the_file_is_read_are_read_again(
    shop: Project, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """In the middle of the file, and when all of it was read."""
    monkeypatch.setattr(import_worker, "BYTES_AT_ONCE", 60)
    one = started(shop)
    lose_rows_at(import_worker.Reading, "step", monkeypatch, one, call=call)
    work(one)
    assert (one.state, one.rows, one.people, one.duplicates) == ("finished", ROWS, ROWS, 0)
    assert numbers(shop) == list(range(ROWS))


@pytest.mark.parametrize(
    "before",
    [{"done_up_to": "u09"}, {"handled": 10}, {"position": {"read": 0}}, {"ahead": {"u29": "u39"}}],
)
def test_a_worker_writes_nothing_after_a_crash_undid_its_progress(
    shop: Project, monkeypatch: pytest.MonkeyPatch, before: dict[str, Any]
) -> None:
    one = started(shop)
    until_merged(one, 20)
    go_on = parallel_merge.merge_next_parts

    def after_a_crash(*given: Any, until: float) -> None:
        Import.objects.filter(pk=one.pk).update(**before)
        go_on(*given, until=until)

    monkeypatch.setattr(parallel_merge, "merge_next_parts", after_a_crash)
    imports.work(one.pk, seconds=0)
    assert len(numbers(shop)) == 20


def test_a_stopped_import_keeps_what_it_did_and_goes_on(shop: Project) -> None:
    one = started(shop)
    until_merged(one, 20)
    imports.stop(one, by=BY, now=timezone.now())
    assert work(one).state == Import.State.STOPPED
    assert len(numbers(shop)) == 20
    merge(one)
    assert (one.state, one.counts["created"], numbers(shop)) == (
        "finished", ROWS, list(range(ROWS)),
    )  # fmt: skip
    actions = AuditEntry.objects.filter(subject_kind="import").order_by("pk")
    assert [entry.action for entry in actions] == [
        "began to upload", "started", "stopped", "continued", "finished",
    ]  # fmt: skip


def test_a_stopped_check_leaves_the_file_ready(shop: Project) -> None:
    one = mapped(upload(shop, TEXT))
    imports.check(one, by=BY)
    imports.work(one.pk, seconds=0)
    imports.stop(one, by=BY, now=timezone.now())
    assert one.state == Import.State.READY
    check(one)
    assert (one.rows, one.foreseen["created"]) == (ROWS, ROWS)


def test_an_import_records_the_people_it_touched(shop: Project) -> None:
    make_contact(shop, external_id="u01", attributes={"n": 1})
    make_contact(shop, external_id="somebody else")
    one = merge(mapped(upload(shop, TEXT)))
    with connection.cursor() as cursor:
        cursor.execute(contact_ids(one.pk))
        found = {row[0] for row in cursor.fetchall()}
    theirs = Contact.objects.filter(external_id__startswith="u")
    assert found == set(theirs.values_list("pk", flat=True))
    assert len(found) == ROWS


def test_an_import_that_cannot_be_worked_on_fails_and_says_why(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = started(shop)
    monkeypatch.setattr(staging, "STEPS", (lambda one: 1 / 0,))
    tasks.work_on_import(one.pk)
    one.refresh_from_db()
    assert (one.state, one.problem) == ("failed", "ZeroDivisionError: division by zero")
    assert not one.parts.exists()


@pytest.mark.parametrize("verb", ["check", "start", "stop"])
def test_a_verb_that_does_not_fit_the_state_changes_nothing(shop: Project, verb: str) -> None:
    one = merge(mapped(upload(shop, TEXT)))
    more = {} if verb == "check" else {"now": timezone.now()}
    with pytest.raises(Import.InvalidMove):
        getattr(imports, verb)(one, by=BY, **more)
    assert one.state == Import.State.FINISHED


def test_an_import_has_the_tables_counted_once_its_first_people_are_there(shop: Project) -> None:
    """Or PostgreSQL plans each part for a project of nobody, and looks through all for each row."""
    until_merged(started(shop), 10)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT %s = ANY(most_common_vals::text::bigint[]) FROM pg_stats"
            " WHERE tablename = 'notifications_contact' AND attname = 'project_id'",
            [shop.pk],
        )
        assert cursor.fetchone() == (True,)
