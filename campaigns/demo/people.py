"""Demo people: puts invented people into a project, with 1.3 devices each on average.

The random numbers are seeded, so that two machines show the same people.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import connection
from django.utils import timezone

from notifications.people import fake_people
from notifications.people.project import Project

CONTACTS = """
COPY notifications_contact
    (id, project_id, external_id, attributes, locale, timezone, created_at, updated_at) FROM STDIN
"""
DEVICES = """
COPY notifications_device
    (project_id, contact_id, kind, address, platform, app_version, registered_at, last_seen_at,
     retired_reason, retired_by) FROM STDIN
"""


def make(project: Project, count: int) -> int:
    """Insert people and their devices by COPY. Returns the number of devices."""
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval('notifications_contact_id_seq') FROM generate_series(1, %s)", [count]
        )
        ids = [row[0] for row in cursor.fetchall()]
        dice = random.Random(ids[0])
        with cursor.copy(CONTACTS) as copy:
            for pk in ids:
                copy.write_row(_person(dice, project.pk, pk, now))
        devices = 0
        with cursor.copy(DEVICES) as copy:
            for pk in ids:
                for row in _devices(dice, project.pk, pk, now):
                    copy.write_row(row)
                    devices += 1
        cursor.execute("ANALYZE notifications_contact, notifications_device")
    return devices


def _person(dice: random.Random, project_id: int, pk: int, now: datetime) -> tuple[Any, ...]:
    person = fake_people.person(dice, now)
    joined = now - timedelta(days=dice.expovariate(1 / 300))
    return (pk, project_id, f"u{pk:07d}", orjson.dumps(person.attributes).decode(),
            person.locale, person.timezone, joined, now)  # fmt: skip


def _devices(
    dice: random.Random, project_id: int, contact_id: int, now: datetime
) -> Iterator[tuple[Any, ...]]:
    for _ in range(fake_people.pick(dice, ((1, 74), (2, 22), (3, 4)))):
        platform = fake_people.pick(dice, fake_people.PLATFORMS)
        seen = now - timedelta(days=min(250, dice.expovariate(1 / 12)))
        address, version = fake_people.address(dice), dice.choice(fake_people.VERSIONS)
        yield (project_id, contact_id, "token", address, platform, version, seen, seen, "", "")
