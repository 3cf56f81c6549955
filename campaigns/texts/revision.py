"""Revisions: every text that a template or a snippet has had, who wrote it, and when."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from django.db import models


class Revision(models.Model):
    """The content of a row after one change."""

    number = models.PositiveIntegerField()
    content = models.JSONField()  # as the row's `as_stored` returns it
    by = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True


class Revised(Protocol):
    """A row that has revisions."""

    pk: Any
    KEPT: ClassVar[tuple[str, ...]]  # the fields whose change makes a revision
    revisions: Any
    updated_at: Any

    def as_stored(self) -> dict[str, Any]: ...


def newest(row: Revised) -> Any:
    return row.revisions.first()


def newest_number(row: Revised) -> int:
    revision = newest(row)
    return revision.number if revision else 0


def open_for_change(kind: type[Any], pk: int) -> None:
    """Lock a row before it is read and changed, so that other writers wait.

    Needs a transaction. A template that is older than its revisions gets its first one here, or its
    former text would be lost.
    """
    row: Revised | None = kind.objects.select_for_update().filter(pk=pk).first()
    if row is None or row.revisions.exists():
        return
    former = row.revisions.create(number=1, content=row.as_stored(), by="")
    row.revisions.filter(pk=former.pk).update(at=row.updated_at)


def keep(row: Revised, *, by: str) -> Any:
    """Store a revision of a row that was just saved, unless its content is the same as before.

    Call it in the transaction that saved the row. So there is no saved text without its revision,
    and the lock of `open_for_change` keeps two writers from the same number.
    """
    last, content = newest(row), row.as_stored()
    if last is not None and says_the_same(row, last.content, content):
        return None
    number = last.number + 1 if last else 1
    return row.revisions.create(number=number, content=content, by=by)


def says_the_same(row: Revised, one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one.get(name) == other.get(name) for name in row.KEPT)
