"""Sample files: an empty one with the right headers, and one with a thousand people."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

from notifications.people import fake_people

PEOPLE = 1_000
SEED = 15  # each download has the same people: a second import shows them as “unchanged”
SUBSCRIBED = 0.94
HEADS = (
    *("external_id", "token", "platform", "app_version", "locale", "timezone"),
    *("subscribed", "subscribed_at"),
)
ATTRIBUTES = ("first_name", "city", "plan", "age", "points", "interests", "last_order_at")
EXAMPLE = (
    (*HEADS, "first_name", "city"),
    (
        *("example-1", "fcm-token-of-the-phone", "android", "5.1.0", "en", "America/New_York"),
        *("yes", "2026-03-01T09:30:00Z", "Olivia", "Boston"),
    ),
    (
        *("example-2", "fcm-token-of-the-tablet", "ios", "5.1.0", "ko", "Asia/Seoul"),
        *("no", "2026-03-02T18:00:00Z", "민준", "Seoul"),
    ),
)


def template_view(request: HttpRequest) -> StreamingHttpResponse:
    return _file("carillon-import-template.csv", EXAMPLE)


def sample_view(request: HttpRequest) -> StreamingHttpResponse:
    return _file("carillon-sample-1000-people.csv", sample(timezone.now()))


def sample(now: datetime) -> Iterator[Iterable[Any]]:
    """The header, then a line for each person with one device."""
    dice, today = random.Random(SEED), now.replace(hour=9, minute=0, second=0, microsecond=0)
    yield (*HEADS, *ATTRIBUTES)
    for number in range(1, PEOPLE + 1):
        yield _line(dice, number, today)


def _line(dice: random.Random, number: int, today: datetime) -> Iterable[Any]:
    person = fake_people.person(dice, today)
    seen_at = today - timedelta(days=dice.randint(1, 400))
    values = {**person.attributes, "interests": _list(person.attributes["interests"])}
    return (
        f"sample-{number:04d}",
        fake_people.address(dice),
        fake_people.pick(dice, fake_people.PLATFORMS),
        dice.choice(fake_people.VERSIONS),
        person.locale,
        person.timezone,
        "yes" if dice.random() < SUBSCRIBED else "no",
        f"{seen_at:%Y-%m-%dT%H:%M:%SZ}",
        *(values.get(name, "") for name in ATTRIBUTES),
    )


def _list(items: list[str]) -> str:
    """A list as a cell. A | at the end makes a single value a list, too."""
    return "|".join(items) if len(items) > 1 else "".join(f"{item}|" for item in items)


def _file(name: str, lines: Iterable[Iterable[Any]]) -> StreamingHttpResponse:
    """A CSV file with a BOM: without it, Excel reads UTF-8 as Latin-1 and garbles 민준."""
    return StreamingHttpResponse(
        _encode_lines(lines),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _encode_lines(lines: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    yield "\ufeff".encode()
    for line in lines:
        text = io.StringIO()
        csv.writer(text).writerow(line)
        yield text.getvalue().encode()
