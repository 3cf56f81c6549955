"""Fake people: believable people with names that fit their locale and cities in their zone.

The demo and the sample file of the import use them. Some addresses are dead or flaky: the emulator
knows them by their prefix.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

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
# The prefix that makes the emulator answer with an error, and its percentage. The rest is alive.
TROUBLE = (("dead-", 2.0), ("flaky-", 0.5), ("malformed-", 0.2))
PLATFORMS = (("android", 58), ("ios", 36), ("web", 6))
VERSIONS = ("4.2.0", "4.10.1", "5.0.0", "5.1.3")


@dataclass(frozen=True)
class Person:
    """A fake person, without an id and without a device."""

    locale: str
    timezone: str
    attributes: dict[str, Any]


def person(dice: random.Random, now: datetime) -> Person:
    locale = dice.choices(list(PLACES), [place[0] for place in PLACES.values()])[0]
    _, zone, cities, names = PLACES[locale]
    attributes: dict[str, Any] = {
        "first_name": dice.choice(names),
        "city": dice.choice(cities),
        "plan": pick(dice, PLANS),
        "age": min(90, 16 + int(dice.gammavariate(3, 8))),
        "points": int(dice.expovariate(1 / 900)),
        "interests": dice.sample(INTERESTS, dice.randint(0, 3)),
        "last_order_at": (now - timedelta(days=dice.expovariate(1 / 40))).date().isoformat(),
    }
    if dice.random() < 0.03:
        del attributes["first_name"]  # some people have no name: the default filter is for them
    return Person(locale, zone, attributes)


def pick(dice: random.Random, weighted: Any) -> Any:
    values, weights = zip(*weighted, strict=True)
    return dice.choices(values, weights)[0]


def address(dice: random.Random) -> str:
    """A fake token as long as a real one. A bad one begins with the emulator's prefix for it."""
    roll, prefix = dice.uniform(0, 100), ""
    for trouble, share in TROUBLE:
        if roll < share:
            prefix = trouble
            break
        roll -= share
    return f"{prefix}{dice.getrandbits(132):022x}:APA91b{dice.getrandbits(804):0134x}"
