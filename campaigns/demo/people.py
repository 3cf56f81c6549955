"""Believable people: names that fit their locale, cities in their zone, 1.3 devices each.

Seeded, so that two machines show the same people. The share of dead and flaky addresses speaks to
the emulator by its address prefixes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import connection
from django.utils import timezone

from notifications.people.project import Project

# locale: weight, zone, cities, first names
PLACES: dict[str, tuple[int, str, list[str], list[str]]] = {
    "ko": (30, "Asia/Seoul", ["Seoul", "Busan", "Incheon", "Daegu"],
           ["민준", "서연", "지우", "하은", "도윤", "수아", "예준", "지민"]),
    "en": (22, "America/New_York", ["New York", "Boston", "Atlanta", "Miami"],
           ["Olivia", "Liam", "Emma", "Noah", "Ava", "Ethan", "Maya", "Lucas"]),
    "en-GB": (8, "Europe/London", ["London", "Leeds", "Bristol", "Glasgow"],
              ["Amelia", "George", "Isla", "Harry", "Freya", "Arthur"]),
    "ja": (14, "Asia/Tokyo", ["東京", "大阪", "札幌", "福岡"],
           ["陽菜", "蓮", "結衣", "湊", "葵", "大翔", "凛", "悠真"]),
    "de": (8, "Europe/Berlin", ["Berlin", "Hamburg", "München", "Köln"],
           ["Mia", "Ben", "Emilia", "Jonas", "Lena", "Finn"]),
    "pt-BR": (8, "America/Sao_Paulo", ["São Paulo", "Recife", "Curitiba", "Manaus"],
              ["Ana", "João", "Beatriz", "Pedro", "Júlia", "Rafael"]),
    "es": (6, "Europe/Madrid", ["Madrid", "Sevilla", "Valencia"],
           ["Lucía", "Hugo", "Martina", "Mateo", "Sofía", "Diego"]),
    "vi": (4, "Asia/Ho_Chi_Minh", ["Hà Nội", "Đà Nẵng", "Huế"],
           ["Linh", "Minh", "Anh", "Hùng", "Trang"]),
}  # fmt: skip
PLANS = (("free", 62), ("plus", 26), ("pro", 12))
INTERESTS = ("running", "football", "cooking", "travel", "music", "films", "books", "games")
# What the emulator answers, by prefix of the address; the rest is alive.
TROUBLE = (("dead-", 2.0), ("flaky-", 0.5), ("malformed-", 0.2))
PLATFORMS = (("android", 58), ("ios", 36), ("web", 6))
VERSIONS = ("4.2.0", "4.10.1", "5.0.0", "5.1.3")

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
    """COPY the people and their devices in; the number of devices."""
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


def _pick(dice: random.Random, weighted: Any) -> Any:
    values, weights = zip(*weighted, strict=True)
    return dice.choices(values, weights)[0]


def _person(dice: random.Random, project_id: int, pk: int, now: datetime) -> tuple[Any, ...]:
    locale = dice.choices(list(PLACES), [place[0] for place in PLACES.values()])[0]
    _, zone, cities, names = PLACES[locale]
    joined = now - timedelta(days=dice.expovariate(1 / 300))
    attributes: dict[str, Any] = {
        "first_name": dice.choice(names),
        "city": dice.choice(cities),
        "plan": _pick(dice, PLANS),
        "age": min(90, 16 + int(dice.gammavariate(3, 8))),
        "points": int(dice.expovariate(1 / 900)),
        "interests": dice.sample(INTERESTS, dice.randint(0, 3)),
        "last_order_at": (now - timedelta(days=dice.expovariate(1 / 40))).date().isoformat(),
    }
    if dice.random() < 0.03:
        del attributes["first_name"]  # some never told their name: what the default filter is for
    return (pk, project_id, f"u{pk:07d}", orjson.dumps(attributes).decode(), locale, zone, joined,
            now)  # fmt: skip


def _devices(
    dice: random.Random, project_id: int, contact_id: int, now: datetime
) -> Iterator[tuple[Any, ...]]:
    for _ in range(_pick(dice, ((1, 74), (2, 22), (3, 4)))):
        platform = _pick(dice, PLATFORMS)
        seen = now - timedelta(days=min(250, dice.expovariate(1 / 12)))
        yield (project_id, contact_id, "token", _address(dice), platform, dice.choice(VERSIONS),
               seen, seen, "", "")  # fmt: skip


def _address(dice: random.Random) -> str:
    """As long as a real token; where it is in trouble, the emulator's word for that in front."""
    roll, prefix = dice.uniform(0, 100), ""
    for trouble, share in TROUBLE:
        if roll < share:
            prefix = trouble
            break
        roll -= share
    return f"{prefix}{dice.getrandbits(132):022x}:APA91b{dice.getrandbits(804):0134x}"
