"""Uploads that nobody ended: judged by their last part, not by when they began."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db.models.functions import Now
from django.utils import timezone

from notifications import imports
from notifications.people import old_imports
from notifications.people.importing import upload as upload_room
from notifications.people.importing.model import Import, ImportPart
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_project
from tests.given.importing import BY

CONTENT = b"id,city\nu1,Seoul\nu2,Busan\n"
WEEK = timedelta(days=7)


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def begun(project: Project, *, ago: timedelta, name: str = "p.csv") -> Import:
    """Its audit entry is as old: nobody did anything with it since."""
    one = imports.begin(project, name=name, size=len(CONTENT), by=BY)
    Import.objects.filter(pk=one.pk).update(created_at=Now() - ago)
    return one


def forgotten(before: datetime) -> int:
    return imports.forget_abandoned(before=before)


def test_an_upload_whose_parts_still_arrive_is_not_forgotten_however_long_ago_it_began(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, dead = (begun(shop, ago=timedelta(days=30), name=name) for name in ("s.csv", "d.csv"))
    _nobody_touched(monkeypatch)
    imports.add_part(slow, 0, CONTENT[:10])
    assert forgotten(timezone.now() - WEEK) == 1
    dead.refresh_from_db()
    assert (dead.state, dead.problem) == ("failed", "Nobody continued it for a week.")

    imports.add_part(slow, 1, CONTENT[10:])
    imports.complete(slow)
    assert forgotten(timezone.now() - WEEK) == 0, "its columns are being chosen"
    slow.refresh_from_db()
    assert (slow.state, slow.parts.count()) == ("ready", 2)
    assert forgotten(timezone.now() + timedelta(minutes=1)) == 1
    assert not ImportPart.objects.exists()


def test_retention_counts_the_days_from_the_last_part(shop: Project) -> None:
    one = begun(shop, ago=timedelta(days=400))
    imports.add_part(one, 0, CONTENT[:10])
    yesterday = timezone.now() - timedelta(days=1)
    assert old_imports.look(shop.pk, yesterday).older == 0
    assert list(old_imports.remove({shop.pk: yesterday})) == []
    assert old_imports.look(shop.pk, timezone.now() + timedelta(minutes=1)).older == 1


def test_uploads_that_killed_commands_left_behind_hold_nobody_up_for_more_than_an_hour(
    shop: Project,
) -> None:
    for number in range(upload_room.MAX_OPEN):
        begun(shop, ago=timedelta(minutes=59), name=f"p{number}.csv")
    with pytest.raises(ValidationError, match="an hour after its last part"):
        begun(shop, ago=timedelta())
    Import.objects.update(created_at=Now() - timedelta(minutes=61))
    begun(shop, ago=timedelta())
    assert Import.objects.count() == upload_room.MAX_OPEN + 1


def test_an_upload_counts_as_open_while_its_parts_arrive(shop: Project) -> None:
    for number in range(upload_room.MAX_OPEN):
        one = begun(shop, ago=timedelta(days=1), name=f"p{number}.csv")
        imports.add_part(one, 0, CONTENT[:10])
    with pytest.raises(ValidationError, match="5 uploads are not finished"):
        begun(shop, ago=timedelta())


def _nobody_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trail only grows; its entries of this moment are asked for as if they were not there."""
    none: Any = AuditEntry.objects.none()
    monkeypatch.setattr(AuditEntry.objects, "filter", lambda *_, **__: none)
