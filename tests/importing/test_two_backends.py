"""Two backends of PostgreSQL merge two parts of one file at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from notifications import imports, tasks
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.importing.merging import parallel_merge
from notifications.people.importing.merging.merge_part import Part, contact_ids
from notifications.people.importing.model import Import
from notifications.people.project import Project
from notifications.people.registry import Address, register_one
from tests.given.builders import make_contact, make_device, make_project, make_run
from tests.given.importing import BY, mapped, upload, work
from tests.given.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE, AT_ONCE = 200, 10
FID = "cdefGHIJklmn0123456"
SECONDS = 10.0  # for the two to meet


@pytest.fixture
def shop(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(parallel_merge, "PEOPLE_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(parallel_merge, "WORTH_TWO", AT_ONCE)
    return make_project()


def rows_of(count: int) -> list[str]:
    """Each tenth person is there twice, far apart, with a phone that is another's in a third row:
    the last row counts."""
    rows = [f"u{n:03},{FID}{n:03}:one,ios,{n}" for n in range(count)]
    rows += [f"u{n:03},,,{n + 1000}" for n in range(0, count, 10)]
    rows += [f"u{count - 1 - n:03},{FID}{n:03}:two,ios," for n in range(5, count // 2, 10)]
    return rows


def started(project: Project, mode: str = "add") -> Import:
    text = "\n".join(["id,token,platform,n", *rows_of(PEOPLE), "bad,t,fax,1\n"])
    one = mapped(upload(project, text), mode=mode)
    imports.start(one, by=BY, now=timezone.now())
    return one


def judge(project: Project, one: Import) -> None:
    """Every row of the file counts once, and the last of each person and of each phone."""
    one.refresh_from_db()
    twice, moved = PEOPLE // 10, len(range(5, PEOPLE // 2, 10))
    assert (one.state, one.ahead) == ("finished", {})
    assert (one.rows, one.refused, one.refusals.count()) == (PEOPLE + twice + moved + 1, 1, 1)
    assert (one.people, one.duplicates, one.handled) == (PEOPLE, twice + moved, PEOPLE)
    assert one.counts == {"created": PEOPLE, "updated": 0, "unchanged": 0, "moved": 0}
    found = {each.external_id: each.attributes["n"] for each in project_people(project)}
    assert found == {f"u{n:03}": n if n % 10 else n + 1000 for n in range(PEOPLE)}
    phones = dict(
        Device.objects.filter(project=project).values_list("address", "contact__external_id")
    )
    assert len(phones) == PEOPLE
    late = {address: who for address, who in phones.items() if address.endswith("two")}
    assert sorted(late.values()) == [
        f"u{PEOPLE - 1 - n:03}" for n in reversed(range(5, PEOPLE // 2, 10))
    ]
    with connection.cursor() as cursor:
        cursor.execute(contact_ids(one.pk))
        touched = [row[0] for row in cursor.fetchall()]
    assert sorted(touched) == sorted(each.pk for each in project_people(project))


def project_people(project: Project) -> Any:
    return Contact.objects.filter(project=project)


class Watch:
    """Which backend of PostgreSQL merged how many parts; and a deed when a part is written and not
    committed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.parts: Counter[int] = Counter()
        self.when_written: Callable[[Part], None] = lambda part: None
        merge = Part.merge

        def watched(part: Part) -> Counter[str]:
            counted = merge(part)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                self.parts[cursor.fetchone()[0]] += 1
            self.when_written(part)
            return counted

        monkeypatch.setattr(Part, "merge", watched)

    @property
    def backends(self) -> int:
        return len(self.parts)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def once_both(deed: Callable[[], None]) -> Callable[[Part], None]:
    """When two parts are written at once, and neither is committed. One alone would wait in vain,
    and break the barrier."""
    met, done = Barrier(2, action=deed, timeout=SECONDS), Event()

    def meet(part: Part) -> None:
        if part._in_two and not done.is_set():
            met.wait()
            done.set()

    return meet


def elsewhere(deed: Callable[[], None]) -> None:
    """Not in the transaction of a part."""

    def with_a_connection() -> None:
        try:
            deed()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(with_a_connection).result()


def test_two_parts_are_merged_at_once_and_every_row_counts_once(
    shop: Project, watch: Watch
) -> None:
    one = started(shop)
    watch.when_written = once_both(lambda: None)
    work(one)
    assert watch.backends == 2
    judge(shop, one)


def test_a_part_that_was_done_before_the_one_in_front_of_it_is_not_done_again(
    shop: Project, watch: Watch
) -> None:
    """The front one fails when the other is committed."""
    one = started(shop)
    before: list[str] = []

    def front_fails(part: Part) -> None:
        if part._in_two and not before and part._params["low"] == fresh(one).done_up_to:
            before.append(part._params["low"])
            eventually("the other is done", lambda: fresh(one).ahead, seconds=SECONDS)
            raise OperationalError("the server went away")

    watch.when_written = front_fails
    tasks.work_on_import(one.pk)
    one.refresh_from_db()
    assert (one.state, [one.done_up_to]) == ("merging", before)
    assert one.ahead and project_people(shop).count() == one.handled
    work(one)
    judge(shop, one)


def test_one_backend_goes_on_where_two_were_stopped(
    shop: Project, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = started(shop)
    before = []

    def stop() -> None:
        stopped = fresh(one)
        imports.stop(stopped, by=BY, now=timezone.now())
        before.append(stopped.handled)

    watch.when_written = once_both(lambda: elsewhere(stop))
    work(one)
    assert (one.state, [one.handled], [project_people(shop).count()]) == ("stopped", before, before)
    monkeypatch.setattr(parallel_merge, "WORTH_TWO", PEOPLE)
    watch.parts.clear()
    imports.start(one, by=BY, now=timezone.now())
    work(one)
    assert watch.backends == 1
    judge(shop, one)


def test_an_app_that_registers_meanwhile_replaces_the_files_address(
    shop: Project, watch: Watch
) -> None:
    """It waits for both backends, or its installation would have two that receive."""
    make_contact(shop, external_id="somebody")
    one, address = started(shop), f"{FID}{AT_ONCE + 1:03}"
    with ThreadPoolExecutor(1) as pool:
        registering = []

        def register() -> None:
            phone = Address("token", f"{address}:app", "ios")
            register_one(shop, "somebody", phone, now=timezone.now())

        def begin() -> None:
            registering.append(pool.submit(elsewhere, register))
            eventually("it waits for its turn", somebody_waits, seconds=SECONDS)

        watch.when_written = once_both(begin)
        work(one)
        registering[0].result()
    active = Device.objects.filter(address__startswith=address, retired_at=None)
    assert [device.address for device in active] == [f"{address}:app"]


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return bool(cursor.rowcount)


def begin_a_run(project: Project) -> None:
    make_device(make_contact(project, external_id="reader"))
    assert make_run(project).state == "sending"


def test_a_second_backend_is_not_taken_from_a_run_that_sends(shop: Project, watch: Watch) -> None:
    begin_a_run(shop)
    work(one := started(shop))
    assert (watch.backends, one.handled) == (1, PEOPLE)


def test_the_second_backend_leaves_when_a_run_begins(shop: Project, watch: Watch) -> None:
    one = started(shop)
    watch.when_written = once_both(lambda: elsewhere(lambda: begin_a_run(shop)))
    work(one)
    assert watch.backends == 2
    assert min(watch.parts.values()) == 1
    assert one.handled == PEOPLE


@pytest.mark.parametrize("state", ["merging", "stopped"])
def test_two_imports_of_a_project_have_one_backend_each(
    shop: Project, watch: Watch, state: str
) -> None:
    """They may name the same phones, and two parts of one file may not wait for each other."""
    other = started(shop)
    Import.objects.filter(pk=other.pk).update(state=state)
    work(one := started(shop))
    assert watch.backends == (1 if state == "merging" else 2)
    judge(shop, one)


@pytest.mark.parametrize("mode", ["replace", "remove"])
def test_what_may_take_devices_away_has_one_backend(shop: Project, watch: Watch, mode: str) -> None:
    one = started(shop, mode=mode)
    work(one)
    assert (watch.backends, one.handled) == (1, one.people)


def fresh(one: Import) -> Import:
    return Import.objects.get(pk=one.pk)
