"""What somebody else writes of a person while they are erased goes, too, a little later."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns import tasks
from campaigns.runs.caps.counted_pushes import Counted
from campaigns.runs.caps.reserved_places import Place
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.erased_people import Erased
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_project, make_scheduled_run

NINE_MINUTES, TWO_MINUTES = timedelta(minutes=9), timedelta(minutes=2)


def counted(person: Contact, run: Run) -> None:
    row = {"contact_id": person.pk, "run_id": run.pk, "message": 0, "at": timezone.now()}
    Counted.objects.create(seq=1, **row)
    Place.objects.create(run_id=run.pk, contact_id=person.pk)


def rows() -> list[int]:
    found = [*Counted.objects.values_list("contact_id"), *Place.objects.values_list("contact_id")]
    return [pk for (pk,) in found]


def passes(time: timedelta) -> None:
    for row in Erased.objects.all():
        Erased.objects.filter(pk=row.pk).update(at=row.at - time)
    tasks.tidy()


@pytest.mark.django_db(transaction=True)
def test_what_was_being_written_of_somebody_who_is_erased_goes_once_it_must_be_there() -> None:
    project = make_project()
    gone, stays = make_contact(project, external_id="ada"), make_contact(project)
    run = make_scheduled_run(project, timezone.now() + timedelta(days=1))
    written, erased = Event(), Event()

    def window() -> None:
        with transaction.atomic():
            counted(gone, run)
            written.set()
            erased.wait(10)
        connection.close()

    counted(stays, run)
    with ThreadPoolExecutor(1) as worker:
        window_opens = worker.submit(window)
        written.wait(10)
        assert Caller(project).delete("contacts/ada").status_code == 204
        erased.set()
        window_opens.result()
    assert sorted(rows()) == [gone.pk, gone.pk, stays.pk, stays.pk]
    passes(NINE_MINUTES)
    assert gone.pk in rows()
    passes(TWO_MINUTES)
    assert rows() == [stays.pk, stays.pk]
    assert not Erased.objects.exists(), "nor is it remembered who it was"
