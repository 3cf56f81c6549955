"""What can be done with an import, for pages and command. Each move leaves an audit entry.

The doors enqueue `tasks.work_on_import` afterwards; nothing here knows of Celery.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import get_language, gettext, gettext_noop

from notifications.people.importing import columns, sniffing, source, staging, upload, working
from notifications.people.importing.columns import Column
from notifications.people.importing.merging import lanes
from notifications.people.importing.model import UNFINISHED, Import
from notifications.people.importing.reading import ENCODINGS
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.staff import audit

add_part, parts_there = upload.add_part, upload.parts_there
urgent_work = lanes.urgent_work
READ = ("ready", "checked")  # its columns are known, and nothing of people was changed


def begin(project: Project, *, name: str, size: int, by: str) -> Import:
    """A file is announced. Raises ValidationError by field (name, size)."""
    upload.check_declared(name, size)
    with transaction.atomic():
        upload.check_room(project, by, size)
        one = Import.objects.create(
            project=project, name=name[-200:], size=size, by=by, language=get_language() or "en"
        )
        _record(one, by, gettext_noop("began to upload"))
    return one


def complete(one: Import, *, encoding: str = "") -> None:
    """All parts are here: look at the file. It is ready then, or failed with a `problem`.

    Raises ValidationError while parts are missing.
    """
    upload.check_whole(one)
    try:
        looked_at = _looked_at(one, encoding)
    except source.Unusable as error:
        _fail(one, ("uploading",), str(error))
        return
    one.move(("uploading",), state=Import.State.READY, **looked_at)


def set_encoding(one: Import, encoding: str) -> None:
    """Look at the file again, as one in this encoding; empty: in the detected one. What its columns
    mean is guessed anew. Raises ValidationError."""
    if encoding not in ("", *ENCODINGS):
        text = gettext("Use one of %(known)s.") % {"known": ", ".join(ENCODINGS)}
        raise ValidationError({"encoding": text})
    try:
        looked_at = _looked_at(one, encoding)
    except source.Unusable as error:
        raise ValidationError({"encoding": str(error)}) from error
    _unread(one, **looked_at)


def _looked_at(one: Import, encoding: str) -> dict[str, Any]:
    """What there is to know of the file before it is read. Raises Unusable."""
    sniffed = sniffing.sniff(one, encoding)
    head, rows = sniffed["head"], sniffed["rows"]
    guessed = columns.remembered(one.project_id, head) or columns.guess(head, rows)
    return {
        "sniffed": {**sniffed, upload.LAST_PART: clock.now().isoformat()},
        "head_digest": columns.digest_of(head),
        "mapping": columns.written(columns.as_declared(guessed, one.project_id)),
    }


def set_mapping(
    one: Import,
    mapping: Sequence[Column],
    *,
    mode: str = Import.Mode.ADD,
    resubscribe: bool = False,
) -> None:
    """What was checked before is to be checked again. Raises ValidationError by a column's head."""
    if mode not in Import.Mode.values:
        text = gettext("Use one of %(known)s.") % {"known": ", ".join(Import.Mode.values)}
        raise ValidationError({"mode": text})
    columns.validate_mapping(mapping, head=one.sniffed["head"], project_id=one.project_id)
    _unread(one, mapping=columns.written(mapping), mode=mode, resubscribe=resubscribe)


def _unread(one: Import, **values: Any) -> None:
    """What was read of it is read again, with these values."""
    with transaction.atomic():
        one.move(READ, state=Import.State.READY, **values, **working.AFRESH)
        one.refusals.all().delete()
        staging.drop(one)


def check(one: Import, *, by: str) -> None:
    """The dry run: nothing of people is changed. `foreseen` has the counts when it is checked."""
    _validate(one)
    with transaction.atomic():
        one.move(("ready",), state=Import.State.CHECKING, foreseen={}, **working.UNHANDLED)
        _record(one, by, gettext_noop("checked"))


def start(one: Import, *, by: str, now: datetime) -> None:
    """Merge it, checked before or not; one that was stopped goes on where it stood."""
    _validate(one)
    goes_on = one.state == Import.State.STOPPED
    afresh = {} if goes_on else {"counts": {}, **working.UNHANDLED}
    with transaction.atomic():
        one.move(
            ("stopped",) if goes_on else ("ready", "checked"),
            state=Import.State.MERGING,
            started_at=one.started_at or now,
            finished_at=None,
            **afresh,
        )
        _record(one, by, gettext_noop("continued") if goes_on else gettext_noop("started"))


def stop(one: Import, *, by: str, now: datetime) -> None:
    """A check ends, and the file is ready as before; a merge keeps what it has done so far."""
    merging = one.state == Import.State.MERGING
    with transaction.atomic():
        if merging:
            one.move(("merging",), state=Import.State.STOPPED, finished_at=now)
        else:
            one.move(("checking",), state=Import.State.READY)
        _record(one, by, gettext_noop("stopped"), **one.counts)


def discard(one: Import, *, by: str) -> None:
    """It is not wanted any more: its bytes and its refused rows are deleted with it."""
    with transaction.atomic():
        held = Import.objects.select_for_update().get(pk=one.pk)
        if held.under_way:
            raise Import.InvalidMove(gettext("Stop it first."))
        _record(one, by, gettext_noop("deleted"))
        staging.drop(held)
        held.delete()


def work(import_id: int, *, seconds: float) -> bool:
    """For so long, in bounded parts. Whether there is more to do."""
    try:
        return working.work_on(import_id, seconds=seconds, ended=_ended)
    except source.Unusable as error:  # what was declared is not what came
        fail(import_id, str(error))
        return False


def _ended(one: Import) -> None:
    """In the transaction of its last part."""
    if one.state == Import.State.FINISHED:
        _record(one, one.by, gettext_noop("finished"), refused=one.refused, **one.counts)


def fail(import_id: int, problem: str) -> None:
    """It cannot be worked on, and trying again would not help."""
    with suppress(Import.InvalidMove):  # it was stopped meanwhile
        _fail(Import.objects.get(pk=import_id), ("checking", "merging"), problem)


def _fail(one: Import, states: tuple[str, ...], problem: str) -> None:
    with transaction.atomic():
        one.move(states, state=Import.State.FAILED, problem=problem[:500])
        _record(one, one.by, gettext_noop("failed"), problem=problem[:500])
        staging.drop(one)
        upload.forget(one)


def forget_abandoned(*, before: datetime) -> int:
    """Files nobody went on with: their bytes are deleted, what became of them stays."""
    touched = audit.AuditEntry.objects.filter(
        subject_kind="import", subject_id=OuterRef("pk"), at__gte=before
    )
    unfinished = Import.objects.filter(~Exists(touched), state__in=UNFINISHED)
    left = unfinished.annotate(touched_at=upload.TOUCHED_AT).filter(touched_at__lt=before)
    return sum(_forget(one) for one in left.exclude(state__in=("checking", "merging")))


def _forget(one: Import) -> bool:
    """Not if somebody goes on with it at this moment."""
    with suppress(Import.InvalidMove), transaction.atomic():
        one.move(
            (one.state,),
            state=Import.State.FAILED,
            problem=gettext("Nobody continued it for a week."),
        )
        staging.drop(one)
        upload.forget(one)
        return True
    return False


def _validate(one: Import) -> None:
    mapping = columns.columns_of(one)
    columns.validate_mapping(mapping, head=one.sniffed.get("head", []), project_id=one.project_id)


def _record(one: Import, by: str, action: str, **detail: Any) -> None:
    audit.record(by, action, one, project=one.project, **detail)
