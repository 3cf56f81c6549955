"""Two backends of PostgreSQL merge two parts of one file at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from notifications import imports
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.importing.merging import lanes
from notifications.people.importing.merging.part import Part, contact_ids
from notifications.people.importing.model import Import
from notifications.people.installations import take_turns
from notifications.people.project import Project
from tests.given.builders import make_contact, make_project, make_run
from tests.given.importing import BY, mapped, upload, work

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE, AT_ONCE = 200, 10
SECONDS = 10.0  # for the two to meet


@pytest.fixture
def shop(db: None, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(lanes, "PEOPLE_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(lanes, "WORTH_TWO", AT_ONCE)
    return make_project()


def rows_of(count: int) -> list[str]:
    """Each tenth person is there twice, far apart, with a phone that is another's in a third row:
    the last row counts."""
    fid = "cdefGHIJklmn0123456"
    rows = [f"u{n:03},{fid}{n:03}:one,ios,{n}" for n in range(count)]
    rows += [f"u{n:03},,,{n + 1000}" for n in range(0, count, 10)]
    rows += [f"u{count - 1 - n:03},{fid}{n:03}:two,ios," for n in range(5, count // 2, 10)]
    return rows


def started(project: Project) -> Import:
    text = "\n".join(["id,token,platform,n", *rows_of(PEOPLE), "bad,t,fax,1\n"])
    one = mapped(upload(project, text))
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
    phones = dict(Device.objects.filter(project=project).values_list("address", "contact__external_id"))
    assert len(phones) == PEOPLE
    late = {address: who for address, who in phones.items() if address.endswith("two")}
    assert sorted(late.values()) == [f"u{PEOPLE - 1 - n:03}" for n in reversed(range(5, PEOPLE // 2, 10))]
    with connection.cursor() as cursor:
        cursor.execute(contact_ids(one.pk))
        touched = [row[0] for row in cursor.fetchall()]
    assert sorted(touched) == sorted(each.pk for each in project_people(project))


def project_people(project: Project) -> Any:
    return Contact.objects.filter(project=project)


def backends(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How many parts each connection to PostgreSQL merged."""
    merge, seen = Part.merge, Counter[int]()

    def noted(part: Part) -> Counter[str]:
        seen[connection.connection.info.backend_pid] += 1
        return merge(part)

    monkeypatch.setattr(Part, "merge", noted)
    return seen


def meeting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part waits, written and not committed, until another is so, too: if two could not be
    under way at once, the barrier would break."""
    merge, met = Part.merge, Barrier(2, timeout=SECONDS)

    def together(part: Part) -> Counter[str]:
        counted = merge(part)
        if part._in_two and not met.broken:
            met.wait()
        return counted

    monkeypatch.setattr(Part, "merge", together)
    monkeypatch.setattr(lanes, "BrokenBarrierError", BrokenBarrierError, raising=False)
