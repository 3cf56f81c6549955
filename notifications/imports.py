"""Imports: what pages and the command can do with an import. Each step writes an audit entry.

Callers enqueue `tasks.work_on_import` afterwards. This module does not use Celery.
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

from notifications.people.importing import columns, import_worker, sniffing, source, staging, upload
from notifications.people.importing.columns import Column
from notifications.people.importing.merging import parallel_merge
from notifications.people.importing.model import UNFINISHED, Import
from notifications.people.importing.reading import ENCODINGS
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.staff import audit

add_part, parts_there = upload.add_part, upload.parts_there
urgent_work = parallel_merge.urgent_work
READ = ("ready", "checked")  # the columns are known, and no person was changed yet


def begin(project: Project, *, name: str, size: int, by: str) -> Import:
    """Create an import for a file that will be uploaded. Raises ValidationError by field (name,
    size)."""
    upload.check_declared(name, size)
    with transaction.atomic():
        upload.check_room(project, by, size)
        new_import = Import.objects.create(
            project=project, name=name[-200:], size=size, by=by, language=get_language() or "en"
        )
        _record(new_import, by, gettext_noop("began to upload"))
    return new_import


def complete(one: Import, *, encoding: str = "") -> None:
    """Inspect the file once all its parts are uploaded. The import is then ready, or failed with a
    `problem`. Raises ValidationError while parts are missing.
    """
    upload.check_whole(one)
    try:
        looked_at = _sniff_values(one, encoding)
    except source.Unusable as error:
        _fail(one, ("uploading",), str(error))
        return
    one.move(("uploading",), state=Import.State.READY, **looked_at)


def set_encoding(one: Import, encoding: str) -> None:
    """Inspect the file again in this encoding, or in the detected one if it is empty. The meaning
    of its columns is guessed again. Raises ValidationError."""
    if encoding not in ("", *ENCODINGS):
        text = gettext("Use one of %(known)s.") % {"known": ", ".join(ENCODINGS)}
        raise ValidationError({"encoding": text})
    try:
        looked_at = _sniff_values(one, encoding)
    except source.Unusable as error:
        raise ValidationError({"encoding": str(error)}) from error
    _discard_rows(one, **looked_at)


def _sniff_values(import_: Import, encoding: str) -> dict[str, Any]:
    """Return the format and the guessed columns of the file, before it is read. Raises Unusable."""
    sniffed = sniffing.sniff(import_, encoding)
    head, rows = sniffed["head"], sniffed["rows"]
    guessed = columns.remembered(import_.project_id, head) or columns.guess(head, rows)
    return {
        "sniffed": {**sniffed, upload.LAST_PART: clock.now().isoformat()},
        "head_digest": columns.digest_of(head),
        "mapping": columns.written(columns.as_declared(guessed, import_.project_id)),
    }


def set_mapping(
    one: Import,
    mapping: Sequence[Column],
    *,
    mode: str = Import.Mode.ADD,
    resubscribe: bool = False,
) -> None:
    """Set what each column means. An earlier check no longer counts. Raises ValidationError by a
    column's head."""
    if mode not in Import.Mode.values:
        text = gettext("Use one of %(known)s.") % {"known": ", ".join(Import.Mode.values)}
        raise ValidationError({"mode": text})
    columns.validate_mapping(mapping, head=one.sniffed["head"], project_id=one.project_id)
    _discard_rows(one, mapping=columns.written(mapping), mode=mode, resubscribe=resubscribe)


def _discard_rows(import_: Import, **values: Any) -> None:
    """Discard what was read of the file, so that it is read again with these values."""
    with transaction.atomic():
        import_.move(READ, state=Import.State.READY, **values, **import_worker.AFRESH)
        import_.refusals.all().delete()
        staging.drop(import_)


def check(one: Import, *, by: str) -> None:
    """Start a dry run, which changes no person. When it is done, `foreseen` has the counts."""
    _validate(one)
    with transaction.atomic():
        one.move(("ready",), state=Import.State.CHECKING, foreseen={}, **import_worker.UNHANDLED)
        _record(one, by, gettext_noop("checked"))


def start(one: Import, *, by: str, now: datetime) -> None:
    """Start the merge, with or without an earlier check. A stopped import continues where it
    stopped."""
    _validate(one)
    goes_on = one.state == Import.State.STOPPED
    afresh = {} if goes_on else {"counts": {}, **import_worker.UNHANDLED}
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
    """Stop a check or a merge. After a check the file is ready as before; a merge keeps what it has
    done."""
    merging = one.state == Import.State.MERGING
    with transaction.atomic():
        if merging:
            one.move(("merging",), state=Import.State.STOPPED, finished_at=now)
        else:
            one.move(("checking",), state=Import.State.READY)
        _record(one, by, gettext_noop("stopped"), **one.counts)


def discard(one: Import, *, by: str) -> None:
    """Delete an import with its bytes and its refused rows."""
    with transaction.atomic():
        locked = Import.objects.select_for_update().get(pk=one.pk)
        if locked.under_way:
            raise Import.InvalidMove(gettext("Stop it first."))
        _record(one, by, gettext_noop("deleted"))
        staging.drop(locked)
        locked.delete()


def work(import_id: int, *, seconds: float) -> bool:
    """Work on an import for this time, in bounded parts. Returns True if there is more to do."""
    try:
        return import_worker.work_on(import_id, seconds=seconds, ended=_record_end)
    except source.Unusable as error:  # the file is not what was declared
        fail(import_id, str(error))
        return False


def _record_end(import_: Import) -> None:
    """Record that the import has finished, in the transaction of its last part."""
    if import_.state == Import.State.FINISHED:
        _record(
            import_, import_.by, gettext_noop("finished"), refused=import_.refused, **import_.counts
        )


def fail(import_id: int, problem: str) -> None:
    """Mark an import as failed: a retry would not help."""
    with suppress(Import.InvalidMove):  # it was stopped meanwhile
        _fail(Import.objects.get(pk=import_id), ("checking", "merging"), problem)


def _fail(import_: Import, states: tuple[str, ...], problem: str) -> None:
    with transaction.atomic():
        import_.move(states, state=Import.State.FAILED, problem=problem[:500])
        _record(import_, import_.by, gettext_noop("failed"), problem=problem[:500])
        staging.drop(import_)
        upload.forget(import_)


def forget_abandoned(*, before: datetime) -> int:
    """Fail imports that nobody continued, and delete their bytes. Their rows stay."""
    touched = audit.AuditEntry.objects.filter(
        subject_kind="import", subject_id=OuterRef("pk"), at__gte=before
    )
    unfinished = Import.objects.filter(~Exists(touched), state__in=UNFINISHED)
    left = unfinished.annotate(touched_at=upload.TOUCHED_AT).filter(touched_at__lt=before)
    return sum(_forget(one) for one in left.exclude(state__in=("checking", "merging")))


def _forget(import_: Import) -> bool:
    """Fail one abandoned import. Returns False if a person continues it at this moment."""
    with suppress(Import.InvalidMove), transaction.atomic():
        import_.move(
            (import_.state,),
            state=Import.State.FAILED,
            problem=gettext("Nobody continued it for a week."),
        )
        staging.drop(import_)
        upload.forget(import_)
        return True
    return False


def _validate(import_: Import) -> None:
    mapping = columns.columns_of(import_)
    columns.validate_mapping(
        mapping, head=import_.sniffed.get("head", []), project_id=import_.project_id
    )


def _record(one: Import, by: str, action: str, **detail: Any) -> None:
    audit.record(by, action, one, project=one.project, **detail)
