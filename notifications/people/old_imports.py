"""Old imports: removes their files and refused rows. Their results stay.

An import that was never finished is deleted whole. An import that is being worked on is not
touched, however old.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Min, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from notifications.people.importing import staging
from notifications.people.importing.model import (
    UNFINISHED,
    WORKING,
    Import,
    ImportBatch,
    ImportPart,
    ImportRefusal,
)
from notifications.people.importing.upload import TOUCHED_AT
from notifications.people.retention import Kept, Kind

ROWS_AT_ONCE = 10_000
PARTS_AT_ONCE = 8  # of 512 kB from the page, 2 MB from the command
HELD = (ImportPart, ImportBatch, ImportRefusal)


def _imports_with_rows(project_id: int) -> Any:
    """Imports that hold anything, with the time they ended or received their last part.

    Each is looked up by its id, in order. With EXISTS, PostgreSQL reads millions of refused rows:
    an index seems expensive to it if a few imports have nearly all of them.
    """
    something: Any = Q(state__in=UNFINISHED)
    for model in HELD:
        from_it_on = model._default_manager.filter(owner__gte=OuterRef("pk"))
        something |= Q(pk=Subquery(from_it_on.order_by("owner_id").values("owner")[:1]))
    mine = Import.objects.filter(something, project=project_id).exclude(state__in=WORKING)
    return mine.annotate(since=Coalesce("finished_at", TOUCHED_AT)).order_by("pk")


def look(project_id: int, before: datetime | None) -> Kept:
    imports = _imports_with_rows(project_id)
    older = imports.filter(since__lt=before) if before else imports.none()
    later = imports.filter(since__gte=before) if before else imports
    return Kept(imports.count(), older.count(), later.aggregate(first=Min("since"))["first"])


def remove(ends: dict[int, datetime | None]) -> Iterator[int]:
    """Remove what old imports hold, step by step.

    If the process dies here: what was removed is gone, and the next pass removes the rest.
    """
    for project_id, end in ends.items():
        for one in _imports_with_rows(project_id).filter(since__lt=end) if end else ():
            yield from _empty(one)


def _empty(import_: Import) -> Iterator[int]:
    """Remove an import's rows step by step, and then the import, if it was never finished."""
    for model in HELD:
        size = ROWS_AT_ONCE if model is ImportRefusal else PARTS_AT_ONCE
        while _some_of(model, import_, size):
            yield 0
    with transaction.atomic():
        # Work on it may have begun again meanwhile: then it stays.
        idle = Import.objects.select_for_update().filter(pk=import_.pk).exclude(state__in=WORKING)
        if idle.filter(state__in=UNFINISHED).exists():
            staging.drop(import_)
            idle.delete()
    yield 1


def _some_of(model: Any, import_: Import, size: int) -> int:
    with transaction.atomic():
        locked = Import.objects.select_for_update(no_key=True).filter(pk=import_.pk)
        if not locked.exclude(state__in=WORKING).exists():
            return 0
        ids = list(model.objects.filter(owner=import_.pk).values_list("pk", flat=True)[:size])
        model.objects.filter(pk__in=ids).delete()
        return len(ids)


KIND = Kind("imports", look, remove)
