"""The parts of the table of events, made by whoever needs one first."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection, transaction

from notifications.people.events import clearing, partitions, reading
from notifications.people.events.months import Month
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from tests.given.at_once import at_once
from tests.given.builders import make_contact, make_project

VALID_INDEXES = "SELECT count(*) FROM pg_index WHERE indrelid = %s::regclass AND indisvalid"
MAY = datetime(2031, 5, 31, 23, 59, 59, tzinfo=UTC)


def test_this_month_and_the_next_have_a_partition_before_anybody_needs_it(db: None) -> None:
    clearing.make_ahead(now=MAY)
    assert {Month(2031, 5), Month(2031, 6)} <= set(partitions.there())


def test_a_partition_has_the_indexes_of_the_table(db: None) -> None:
    with transaction.atomic():
        assert partitions.make([Month(2031, 5)]) == [Month(2031, 5)]
        assert partitions.make([Month(2031, 5)]) == []
    with connection.cursor() as cursor:
        cursor.execute(VALID_INDEXES, ["notifications_event_2031_05"])
        assert cursor.fetchone()[0] == 3


@pytest.mark.django_db(transaction=True)
def test_two_processes_that_need_the_same_new_partition_lose_no_event() -> None:
    project: Project = make_project()
    ada, bob = (make_contact(project, external_id=name) for name in ("ada", "bob"))

    def writes(name: str) -> set[str]:
        return write(project.pk, [Event(name, "bought", MAY)])

    assert at_once(first=lambda: writes("ada"), second=lambda: writes("bob")) == set()
    assert [len(reading.newest_of(person.pk)) for person in (ada, bob)] == [1, 1]
    assert partitions.there() == [Month(2031, 5)]


@pytest.mark.django_db(transaction=True)
def test_an_event_that_is_written_while_its_person_is_erased_goes_with_them() -> None:
    project: Project = make_project()
    ada = make_contact(project, external_id="ada")
    at_once(
        first=lambda: write(project.pk, [Event("ada", "bought", MAY)]),
        second=lambda: ada.delete(),
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM notifications_event")
        assert cursor.fetchone()[0] == 0
