"""Erased: the ids of erased people, whose rows are deleted once more after KEPT_FOR.

An erasure does not see what another transaction is writing about the person meanwhile. No
transaction lasts as long as KEPT_FOR. After that, all rows with the person's id are visible: they
are deleted, and so is the row here. Rows that have the external id instead (messages to one person,
calls of others) have guards of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db import models, transaction
from django.utils import timezone

from notifications.values.registry import Registry

KEPT_FOR = timedelta(minutes=10)  # see settings.DATABASES
AT_ONCE = 1_000

# Called inside the transaction that erases people, to delete rows about them that have no foreign
# key.
on_people_erased = Registry[Callable[[Sequence[int]], None]]()


class Erased(models.Model):
    """The id of an erased person, until their rows are deleted once more."""

    contact_id = models.BigIntegerField()
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"person {self.contact_id}, erased {self.at}"


def forget_people(contact_ids: Sequence[int]) -> None:
    _forget(contact_ids)
    Erased.objects.bulk_create(Erased(contact_id=pk) for pk in contact_ids)


def delete_leftover_rows(now: datetime) -> None:
    """Delete rows of people erased KEPT_FOR ago or earlier, once more.

    If the process dies here: the next call does it.
    """
    while _some_more(now):
        pass


@transaction.atomic
def _some_more(now: datetime) -> bool:
    old = Erased.objects.filter(at__lte=now - KEPT_FOR).order_by("pk")
    rows = list(old.select_for_update(skip_locked=True)[:AT_ONCE])
    if rows:
        _forget([row.contact_id for row in rows])
        Erased.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows) == AT_ONCE


def _forget(contact_ids: Sequence[int]) -> None:
    for forget in on_people_erased:
        forget(contact_ids)
