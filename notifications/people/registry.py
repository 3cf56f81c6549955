"""Registry: writes many people and their devices with a few statements.

All code that writes these rows locks them in one order: people by external id, then devices by
address. So two transactions wait for each other instead of deadlocking. Code that erases a person
or puts one on a list begins with the people, too. Code that retires a dead address waits for
nobody. If the process dies here: nothing of the call is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Q

from notifications.people.consent.record import ConsentAnswer, record_answers
from notifications.people.device import Device, remove
from notifications.people.installations import (
    FIRST_HAND,
    REPLACED,
    first_hand,
    installation,
    installation_of,
    shows,
    take_turns,
)
from notifications.people.locking import lock_devices
from notifications.people.project import Project
from notifications.values import exact


@dataclass(frozen=True, slots=True)
class Address:
    """One device as the app reports it. An empty version means: not reported.

    `seen_at`: when the device was seen, if the caller reports it. Not in the future.
    `retired`: we showed it as retired, and the caller sends it back so. It is left as it is.
    """

    kind: str
    address: str
    platform: str
    app_version: str = ""
    retired: bool = False
    seen_at: datetime | None = None

    @property
    def installation(self) -> str | None:
        return installation_of(self.kind, self.address)


@dataclass(frozen=True, slots=True)
class Person:
    """One person as the app reports them. None means: not reported, it stays as it is."""

    external_id: str
    attributes: dict[str, Any] | None = None
    locale: str | None = None
    timezone: str | None = None
    tester: bool | None = None
    devices: Sequence[Address] | None = None
    answers: Sequence[ConsentAnswer] = ()  # consent answers; what is not reported stays as it is


TOLD = ("attributes", "locale", "timezone", "tester")


@dataclass(frozen=True, slots=True)
class Upserted:
    """The ids of the people, by external id, and which of them are new."""

    ids: dict[str, int]
    created: frozenset[str]


def upsert(project: Project, people: Sequence[Person], *, by: str, now: datetime) -> Upserted:
    """Write people and register their devices. If a call repeats a value, the last one counts."""
    with transaction.atomic():
        upserted = _write_people(project, _merge_people(people), now)
        answers = [word for person in people for word in person.answers]
        record_answers(project, answers, source="api", by=by, now=now)
        owners = [
            (upserted.ids[person.external_id], device)
            for person in people
            for device in person.devices or ()
        ]
        register(project, owners, now=now)
    return upserted


def replace_one(project: Project, person: Person, *, by: str, now: datetime) -> Upserted:
    """Write a person. If devices are given, all their other devices are removed.

    One stays: an address that the app itself registered for an installation that is given by
    another address.
    """
    with transaction.atomic():
        upserted = _write_people(project, [person], now)
        record_answers(project, person.answers, source="api", by=by, now=now)
        if person.devices is not None:
            (owner,) = upserted.ids.values()
            devices = Device.objects.filter(contact=owner)
            addressed = _at_addresses(project, person.devices)
            _take_turns(project, person.devices)
            lock_devices(devices | Device.objects.filter(addressed))
            register(project, [(owner, device) for device in person.devices], now=now)
            staying = addressed | _registered_by_app(person.devices)
            removed = devices.exclude(staying).filter(registered_at__lte=now)
            remove(removed.values_list("pk", flat=True), now=now)
    return upserted


def _at_addresses(project: Project, addresses: Sequence[Address]) -> Q:
    addressed = Q(pk=None)
    for address in addresses:
        addressed |= Q(project=project, kind=address.kind, address=address.address)
    return addressed


def _registered_by_app(addresses: Sequence[Address]) -> Q:
    installations = {one.installation for one in addresses if one.installation and not one.retired}
    matching = Q(pk=None)
    for one in installations:
        matching |= Q(address__startswith=one, registered_from__in=FIRST_HAND)
    return matching


def _merge_people(people: Sequence[Person]) -> list[Person]:
    """Each person once: an export with a row per device names the same person several times."""
    merged: dict[str, Person] = {}
    for person in people:
        before = merged.get(person.external_id, person)
        values = {name: getattr(person, name) for name in TOLD if getattr(person, name) is not None}
        merged[person.external_id] = replace(before, **values)
    return list(merged.values())


CREATE = """
INSERT INTO notifications_contact
    (project_id, external_id, attributes, locale, timezone, tester, created_at, updated_at)
SELECT %(project)s, external_id, COALESCE(attributes, '{}'), COALESCE(locale, ''),
    COALESCE(timezone, ''), COALESCE(tester, FALSE), %(now)s, %(now)s
FROM unnest(%(ids)s::text[], %(attributes)s::jsonb[], %(locales)s::text[], %(zones)s::text[],
    %(testers)s::bool[]) AS given (external_id, attributes, locale, timezone, tester)
ORDER BY external_id
ON CONFLICT (project_id, external_id) DO NOTHING
RETURNING external_id, id
"""
# A separate statement, because only an UPDATE can leave an unreported value as it is: on conflict,
# an INSERT no longer knows which values were given and which are the defaults of a new row.
UPDATE = """
WITH known AS (
    SELECT c.id, given.*
    FROM unnest(%(ids)s::text[], %(attributes)s::jsonb[], %(locales)s::text[], %(zones)s::text[],
        %(testers)s::bool[]) AS given (external_id, attributes, locale, timezone, tester)
    JOIN notifications_contact c
        ON c.project_id = %(project)s AND c.external_id = given.external_id
    ORDER BY c.external_id FOR NO KEY UPDATE OF c
)
UPDATE notifications_contact c SET
    attributes = COALESCE(known.attributes, c.attributes),
    locale = COALESCE(known.locale, c.locale),
    timezone = COALESCE(known.timezone, c.timezone),
    tester = COALESCE(known.tester, c.tester),
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
            # A person was erased between the two statements. Creating them now would break the
            # lock order: release all people, and begin with the first again.
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
        "testers": [person.tester for person in people],
    }


SHOWN = "SELECT unnest(%(installations)s::text[]) AS installation"
TURN_OF_ONE = """
WITH owner AS MATERIALIZED (
    SELECT id FROM notifications_contact
    WHERE project_id = %(project)s AND external_id = %(owner)s FOR NO KEY UPDATE
)
SELECT pg_advisory_xact_lock(
    %(project)s::int, (hashtextextended(%(installation)s::text, 0) & 255)::int
) FROM owner
"""
# Registers devices and retires the ones they replace, in one statement: a phone that registers
# costs one more. `late`: the app itself has registered another address of the installation, which
# stays. The other addresses of an installation are looked up one by one (OFFSET 0, and a count in
# place of EXISTS): PostgreSQL would read millions of devices for a thousand, 2.7 s a call. They are
# looked up whatever the project (SELECT): PostgreSQL has not counted the rows of a new one yet, and
# would look through all of them for each.
REGISTER = f"""
WITH given AS ({{given}}), registered AS (
    INSERT INTO notifications_device AS d
        (project_id, contact_id, kind, address, platform, app_version, registered_at,
         registered_from, last_seen_at, retired_at, retired_reason, retired_by)
    SELECT %(project)s, contact_id, kind, address, platform, app_version, %(now)s,
        %(source)s, COALESCE(seen_at, %(now)s), CASE WHEN late THEN %(now)s END,
        CASE WHEN late THEN '{REPLACED}' ELSE '' END, ''
    FROM given
    ORDER BY kind, address
    ON CONFLICT (project_id, kind, address) DO UPDATE SET
        contact_id = EXCLUDED.contact_id,
        platform = EXCLUDED.platform,
        app_version = COALESCE(NULLIF(EXCLUDED.app_version, ''), d.app_version),
        registered_from = CASE WHEN d.retired_at IS NULL AND %(source)s <> 'app'
            THEN d.registered_from ELSE EXCLUDED.registered_from END,
        {{again}},
        retired_at = EXCLUDED.retired_at,
        retired_reason = EXCLUDED.retired_reason,
        retired_by = ''
    RETURNING d.*
), replaced AS (
    UPDATE notifications_device old
    SET retired_at = %(now)s, retired_reason = '{REPLACED}', retired_by = ''
    WHERE old.retired_at IS NULL AND old.id = ANY(ARRAY(
        SELECT other.id FROM given CROSS JOIN LATERAL (
            SELECT d.id FROM notifications_device d
            WHERE d.project_id = (SELECT %(project)s::bigint)
                AND {installation("d")} = given.installation AND {shows("d")}
                AND d.retired_at IS NULL
                AND (d.kind, d.address) IS DISTINCT FROM (given.kind, given.address)
            OFFSET 0
        ) other
        WHERE given.installation IS NOT NULL AND NOT given.late
    ))
)
"""
MANY = f"""
    SELECT *, (SELECT count(*) FROM (
        SELECT FROM notifications_device other
        WHERE other.project_id = (SELECT %(project)s::bigint)
            AND {installation("other")} = given.installation
            AND {shows("other")} AND other.retired_at IS NULL AND {first_hand("other")}
            AND (other.kind, other.address) IS DISTINCT FROM (given.kind, given.address)
        LIMIT 1
    ) one) = 1 AS late FROM unnest(%(contacts)s::bigint[], %(kinds)s::text[], %(addresses)s::text[],
        %(platforms)s::text[], %(versions)s::text[], %(installations)s::text[],
        %(seen)s::timestamptz[])
        AS given (contact_id, kind, address, platform, app_version, installation, seen_at)
"""
# Locks the owner: nobody erases them until the transaction ends, which is with this statement.
ONE = """
    SELECT id AS contact_id, %(kind)s AS kind, %(address)s AS address, %(platform)s AS platform,
        %(version)s AS app_version, %(installation)s::text AS installation,
        NULL::timestamptz AS seen_at, FALSE AS late
    FROM notifications_contact WHERE project_id = %(project)s AND external_id = %(owner)s
    FOR NO KEY UPDATE
"""
# A backend that writes people says who owns an address. Only a time that it gives says that the
# device was seen. Without one, the time of registration stands in, and counts for a new row only.
WRITTEN_AGAIN = """
        registered_at = CASE WHEN d.contact_id = EXCLUDED.contact_id AND d.retired_at IS NULL
            THEN d.registered_at ELSE EXCLUDED.registered_at END,
        last_seen_at = CASE WHEN EXCLUDED.last_seen_at = EXCLUDED.registered_at
            THEN d.last_seen_at ELSE GREATEST(d.last_seen_at, EXCLUDED.last_seen_at) END"""
# The app itself registers, so the device was seen now.
HERE_AGAIN = "registered_at = EXCLUDED.registered_at, last_seen_at = EXCLUDED.last_seen_at"
REGISTER_MANY = REGISTER.format(given=MANY, again=WRITTEN_AGAIN) + "SELECT count(*) FROM registered"
REGISTER_ONE = REGISTER.format(given=ONE, again=HERE_AGAIN) + "SELECT * FROM registered"


def _take_turns(project: Project, devices: Sequence[Address]) -> None:
    installations = [device.installation for device in devices if device.installation]
    if installations:
        take_turns(project.pk, SHOWN, {"installations": installations})


def register(project: Project, owners: Sequence[tuple[int, Address]], *, now: datetime) -> None:
    """Register addresses that a backend reports, each with the id of its person.

    An address moves to its new owner, and a retired one that is written again is active. If an
    address is given twice, the last owner counts. The owners are locked already: nobody erases them
    meanwhile.
    """
    owners = _last_words(owners)
    if not owners:
        return
    devices = [device for _, device in owners]
    _take_turns(project, devices)
    columns: dict[str, Any] = {
        "project": project.pk,
        "now": now,
        "source": Device.Source.API,
        "contacts": [contact_id for contact_id, _ in owners],
        "kinds": [device.kind for device in devices],
        "addresses": [device.address for device in devices],
        "platforms": [device.platform for device in devices],
        "versions": [device.app_version for device in devices],
        "installations": [device.installation for device in devices],
        "seen": [device.seen_at for device in devices],
    }
    with connection.cursor() as cursor:
        cursor.execute(REGISTER_MANY, columns)


def register_one(
    project: Project, external_id: str, device: Address, *, now: datetime
) -> Device | None:
    """Register a device that its app reports: it was seen now. None: there is no such person."""
    values: dict[str, Any] = {
        "project": project.pk,
        "now": now,
        "source": Device.Source.APP,
        "owner": external_id,
        "kind": device.kind,
        "address": device.address,
        "platform": device.platform,
        "version": device.app_version,
        "installation": device.installation,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        if device.installation:
            cursor.execute(TURN_OF_ONE, values)
        return next(iter(Device.objects.raw(REGISTER_ONE, values)), None)


def _last_words(owners: Sequence[tuple[int, Address]]) -> list[tuple[int, Address]]:
    """Each active address once, and one address of each installation: the last one given."""
    by_address = {(device.kind, device.address): (owner, device) for owner, device in owners}
    active = [(owner, device) for owner, device in by_address.values() if not device.retired]
    return list(
        {device.installation or device: (owner, device) for owner, device in active}.values()
    )
