"""The registry of people and their devices: many upserted by a few statements.

Rows are locked in one order by everybody who writes them, so that two who meet wait for each other
instead of deadlocking: people by external id, then devices by address. Who erases a person or puts
one on a list begins with the people, too; who retires a dead address waits for nobody. If the
process dies here: nothing of the call is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Q

from notifications.people.device import Device, retire
from notifications.people.locking import hold
from notifications.people.project import Project
from notifications.values import exact


@dataclass(frozen=True, slots=True)
class Address:
    """One device as the app reports it. An empty version means: not told.

    `retired`: it was shown as retired and came back like that. It is left as it is.
    """

    kind: str
    address: str
    platform: str
    app_version: str = ""
    retired: bool = False


@dataclass(frozen=True, slots=True)
class Person:
    """One person as the app reports them. None means: not told, it stays as it is."""

    external_id: str
    attributes: dict[str, Any] | None = None
    locale: str | None = None
    timezone: str | None = None
    devices: Sequence[Address] | None = None


TOLD = ("attributes", "locale", "timezone")


@dataclass(frozen=True, slots=True)
class Upserted:
    """The ids of the people, by external id, and which of them are new."""

    ids: dict[str, int]
    created: frozenset[str]


def upsert(project: Project, people: Sequence[Person], *, now: datetime) -> Upserted:
    """Write people and register their devices. Said twice in one call, the last word counts."""
    with transaction.atomic():
        upserted = _write_people(project, _merged(people), now)
        owners = [
            (upserted.ids[person.external_id], device)
            for person in people
            for device in person.devices or ()
        ]
        register(project, owners, now=now)
    return upserted


def replace_one(project: Project, person: Person, *, now: datetime) -> Upserted:
    """Write a person. Given devices, all others of theirs are retired."""
    with transaction.atomic():
        upserted = _write_people(project, [person], now)
        if person.devices is not None:
            (owner,) = upserted.ids.values()
            theirs = Device.objects.filter(contact=owner)
            named = _named(project, person.devices)
            hold(theirs | Device.objects.filter(named))
            register(project, [(owner, device) for device in person.devices], now=now)
            gone = theirs.exclude(named).values_list("pk", flat=True)
            retire(gone, reason="removed", sent_at=now, now=now)
    return upserted


def _named(project: Project, addresses: Sequence[Address]) -> Q:
    named = Q(pk=None)
    for one in addresses:
        named |= Q(project=project, kind=one.kind, address=one.address)
    return named


def _merged(people: Sequence[Person]) -> list[Person]:
    """Each person once: an export with a row per device names the same person several times."""
    merged: dict[str, Person] = {}
    for person in people:
        before = merged.get(person.external_id, person)
        told = {name: getattr(person, name) for name in TOLD if getattr(person, name) is not None}
        merged[person.external_id] = replace(before, **told)
    return list(merged.values())


CREATE = """
INSERT INTO notifications_contact
    (project_id, external_id, attributes, locale, timezone, created_at, updated_at)
SELECT %(project)s, external_id, COALESCE(attributes, '{}'), COALESCE(locale, ''),
    COALESCE(timezone, ''), %(now)s, %(now)s
FROM unnest(%(ids)s::text[], %(attributes)s::jsonb[], %(locales)s::text[], %(zones)s::text[])
    AS given (external_id, attributes, locale, timezone)
ORDER BY external_id
ON CONFLICT (project_id, external_id) DO NOTHING
RETURNING external_id, id
"""
# A separate statement, because only here “not told” can mean “as it is”: on conflict, an INSERT
# knows no longer which values were given and which were made up for the new row.
UPDATE = """
WITH known AS (
    SELECT c.id, given.*
    FROM unnest(%(ids)s::text[], %(attributes)s::jsonb[], %(locales)s::text[], %(zones)s::text[])
        AS given (external_id, attributes, locale, timezone)
    JOIN notifications_contact c
        ON c.project_id = %(project)s AND c.external_id = given.external_id
    ORDER BY c.external_id FOR NO KEY UPDATE OF c
)
UPDATE notifications_contact c SET
    attributes = COALESCE(known.attributes, c.attributes),
    locale = COALESCE(known.locale, c.locale),
    timezone = COALESCE(known.timezone, c.timezone),
    updated_at = %(now)s
FROM known WHERE c.id = known.id
RETURNING c.external_id, c.id
"""


def _write_people(project: Project, people: list[Person], now: datetime) -> Upserted:
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(CREATE, _columns(project, people, now))
            new = dict(cursor.fetchall())
            known = [person for person in people if person.external_id not in new]
            cursor.execute(UPDATE, _columns(project, known, now))
            ids = new | dict(cursor.fetchall())
            if len(ids) == len(people):
                return Upserted(ids, frozenset(new))
            # Somebody was erased between the two statements. To create them now would be out of
            # order: let go of everybody, and begin with the first again.
            transaction.set_rollback(True)


def _columns(project: Project, people: list[Person], now: datetime) -> dict[str, Any]:
    return {
        "project": project.pk,
        "now": now,
        "ids": [person.external_id for person in people],
        "attributes": [
            None if person.attributes is None else exact.dumps(person.attributes).decode()
            for person in people
        ],
        "locales": [person.locale for person in people],
        "zones": [person.timezone for person in people],
    }


REGISTER = """
INSERT INTO notifications_device AS d
    (project_id, contact_id, kind, address, platform, app_version, registered_at, last_seen_at,
     retired_reason, retired_by)
SELECT %(project)s, contact_id, kind, address, platform, app_version, %(now)s, %(now)s, '', ''
FROM unnest(%(contacts)s::bigint[], %(kinds)s::text[], %(addresses)s::text[],
    %(platforms)s::text[], %(versions)s::text[])
    AS given (contact_id, kind, address, platform, app_version)
ORDER BY kind, address
ON CONFLICT (project_id, kind, address) DO UPDATE SET
    contact_id = EXCLUDED.contact_id,
    platform = EXCLUDED.platform,
    app_version = COALESCE(NULLIF(EXCLUDED.app_version, ''), d.app_version),
    registered_at = EXCLUDED.registered_at,
    last_seen_at = EXCLUDED.last_seen_at,
    retired_at = NULL,
    retired_reason = '',
    retired_by = ''
"""


def register(project: Project, owners: Sequence[tuple[int, Address]], *, now: datetime) -> None:
    """Each address with the id of the person it belongs to from now on; the last word counts.

    An address moves to its new owner, and a retired one that the app registers again is active.
    The owners are locked already: nobody erases them meanwhile.
    """
    last_words = {(device.kind, device.address): (owner, device) for owner, device in owners}
    owners = [(owner, device) for owner, device in last_words.values() if not device.retired]
    if not owners:
        return
    devices = [device for _, device in owners]
    columns: dict[str, Any] = {
        "project": project.pk,
        "now": now,
        "contacts": [contact_id for contact_id, _ in owners],
        "kinds": [device.kind for device in devices],
        "addresses": [device.address for device in devices],
        "platforms": [device.platform for device in devices],
        "versions": [device.app_version for device in devices],
    }
    with connection.cursor() as cursor:
        cursor.execute(REGISTER, columns)
