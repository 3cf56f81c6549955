"""Part: merges one bounded part of the staged people, in the registry's lock order.

A part is everybody between two external ids, so all rows of a person are in the same part. A check
runs the same queries, but writes only to temporary tables.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection

from notifications.people.consent.record import StoredAnswers, record_stored_answers
from notifications.people.contact import Contact
from notifications.people.device import Device, remove
from notifications.people.erased_people import forget_people
from notifications.people.importing.columns import Column, Meaning
from notifications.people.importing.merging.devices import (
    DEVICES,
    GONE,
    NOT_ALONE,
    REGISTER,
    REGISTER_KNOWN,
    REGISTERED,
    RETURN,
    SHOWN,
    TOUCHED,
)
from notifications.people.importing.merging.parts import Span
from notifications.people.importing.merging.people import (
    ANSWERS,
    COUNT,
    CREATE,
    FIND,
    FOLD,
    HELD,
    KEEP,
    MERGED,
    ONE_BY_ONE,
    RANGE,
    TEMPORARY,
    TURNED,
    UNLESS_THERE,
    WORDS,
    WRITE,
)
from notifications.people.importing.model import Import
from notifications.people.importing.staging import table_of
from notifications.people.installations import retire_older, take_turns
from notifications.people.locking import lock_devices

# Numbers of people whose answer the file changes, about everything and about a category.
ANSWERED = ("unsubscribed", "resubscribed", "left_category", "back_in_category")


class Collided(Exception):
    """A person or a device was created or erased meanwhile: the part must be repeated."""


class Part:
    """Everybody in the file after one external id, up to another. Used inside a transaction.

    `in_two`: another backend merges another part of the same file at this moment.
    `alone`: if anybody else creates these people or devices meanwhile, it is a collision.
    """

    def __init__(
        self, one: Import, columns: list[Column], span: Span, *, now: datetime,
        in_two: bool = False, alone: bool = False,
    ) -> None:  # fmt: skip
        self._one, self._now, self._in_two, self._alone = one, now, in_two, alone
        self._returning = 0  # devices that were replaced, and receive again
        self._changing = 0  # known devices that will have another owner or other values
        low, high = span
        means = {column.meaning for column in columns}
        self._removes = one.mode == Import.Mode.REMOVE
        self._replaces = one.mode == Import.Mode.REPLACE
        self._devices = bool(means & {Meaning.TOKEN, Meaning.FID}) and not self._removes
        self._words = bool(means & {Meaning.SUBSCRIBED, Meaning.CATEGORY}) and not self._removes
        self._params: dict[str, Any] = {
            "project": one.project_id,
            "owner": one.pk,
            "now": now,
            "kind": Device.Kind.FID if Meaning.FID in means else Device.Kind.TOKEN,
            "careful": not one.resubscribe,
            "low": low,
            "high": high,
        }

    def foresee(self) -> Counter[str]:
        """What `merge` would count now. Writes nothing, and locks nobody."""
        self._fold()
        self._do(FIND, merged=MERGED[self._one.mode], held="")
        self._compare()
        return self._count_rows()

    def merge(self) -> Counter[str]:
        """Merge the part. If it raises Collided, the transaction must be rolled back."""
        self._fold()
        if not self._removes:
            self._create(CREATE.replace("{unless_there}", "" if self._alone else UNLESS_THERE))
        self._do(FIND, merged=MERGED[self._one.mode], held=HELD[self._one.mode])
        self._compare()
        counts = self._count_rows()
        if self._removes:
            self._erase()
        else:
            self._write(counts)
        return counts

    def remember(self, number: int) -> None:
        """Store the people this part touched, as an ImportBatch. Each part has its own number."""
        self._do(KEEP, number=number)

    def _fold(self) -> None:
        self._do(ONE_BY_ONE)
        self._do(TEMPORARY)
        self._do(FOLD)

    def _compare(self) -> None:
        if self._devices:
            self._do(DEVICES)
            self._do(TOUCHED)
        if self._words:
            self._do(ANSWERS.replace("{words}", WORDS))

    def _count_rows(self) -> Counter[str]:
        people, known, created, updated, moved, *devices = self._ask(COUNT)[0]
        self._returning, self._changing = devices
        if self._removes:
            return Counter(people=people, removed=known, unknown=people - known)
        new = people - known + created  # people who do not exist yet are created here
        unchanged = people - new - updated
        counts = Counter(
            people=people, created=new, updated=updated, unchanged=unchanged, moved=moved
        )
        if self._words:
            turned = self._ask(self._fill_in(TURNED.replace("{words}", WORDS)))[0]
            counts.update(dict(zip(ANSWERED, turned, strict=True)))
        return counts

    def _write(self, counts: Counter[str]) -> None:
        (count,) = self._ask("SELECT count(*) FROM import_known")[0]
        if count != counts["people"]:
            raise Collided
        self._do(WRITE)
        if self._devices:
            self._register()
        if self._words:
            words = StoredAnswers(
                self._fill_in(WORDS), {name: self._params[name] for name in ("low", "high")}
            )
            record_stored_answers(
                self._one.project, words, source="import", by=self._one.by, now=self._now,
                careful=not self._one.resubscribe,
            )  # fmt: skip

    def _register(self) -> None:
        # Only one row in the file has an address of an installation (see LAST_WORD). So two parts
        # of a file never register the same one, and do not wait for each other.
        take_turns(self._one.project_id, SHOWN, self._params, shared=self._in_two)
        removed = [row[0] for row in self._ask(self._fill_in(GONE))] if self._replaces else []
        if removed:
            lock_devices(Device.objects.filter(pk__in=removed))
        remove(removed, now=self._now)
        not_alone = [row[0] for row in self._ask(NOT_ALONE)]
        self._create(REGISTER if self._alone and not self._changing else REGISTER_KNOWN)
        if self._returning:
            self._do(RETURN)
        if not_alone:
            new = self._ask(REGISTERED, addresses=not_alone)
            retire_older([row[0] for row in new], now=self._now)

    def _erase(self) -> None:
        """Erase the people with everything that belongs to them, as the API does."""
        ids = [row[0] for row in self._ask("SELECT id FROM import_known")]
        lock_devices(Device.objects.filter(contact__in=ids))
        forget_people(ids)
        Contact.objects.filter(pk__in=ids).delete()
        self._do("TRUNCATE import_known")

    def _fill_in(self, sql: str) -> str:
        return sql.format(table=table_of(self._one), range=RANGE)

    def _do(self, sql: str, *, merged: str = "", held: str = "", **params: Any) -> None:
        text = sql.replace("{merged}", merged).replace("{held}", held).replace("{}", "{{}}")
        with connection.cursor() as cursor:
            cursor.execute(self._fill_in(text), {**self._params, **params})

    def _create(self, sql: str) -> None:
        """Create rows. Raises Collided if another transaction has created one of them since."""
        try:
            self._do(sql)
        except IntegrityError as error:
            raise Collided from error

    def _ask(self, sql: str, **params: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql, {**self._params, **params})
            return list(cursor.fetchall())


def contact_ids(import_id: int) -> str:
    """A SELECT of the ids of all people this import created, updated or found unchanged."""
    return (
        f"SELECT unnest(contact_ids) FROM notifications_importbatch WHERE owner_id = {import_id:d}"
    )
