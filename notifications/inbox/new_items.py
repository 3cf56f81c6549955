"""New items: what is new in many people's inboxes, read for all of them together.

It is for open streams. It waits for nobody's locks, and may be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import connection

MAX_LOOKED_AT = 1_000  # items of one person
NEWEST = "SELECT coalesce(max(id), 0) FROM notifications_inboxitem"
NUMBERS = """
SELECT reader.contact, item.id
FROM unnest(%s::bigint[], %s::bigint[]) AS reader (contact, floor),
LATERAL (
    SELECT id FROM notifications_inboxitem
    WHERE contact_id = reader.contact AND id > reader.floor
        AND archived_at IS NULL AND (expires_at IS NULL OR expires_at > now())
    ORDER BY id DESC LIMIT %s
) AS item
ORDER BY item.id
"""
BADGES = """
SELECT reader.contact, count(*) FILTER (WHERE item.seen_at IS NULL), count(*)
FROM unnest(%s::bigint[]) AS reader (contact) JOIN notifications_inboxitem item
    ON item.contact_id = reader.contact AND item.read_at IS NULL AND item.archived_at IS NULL
    AND (item.expires_at IS NULL OR item.expires_at > now())
GROUP BY reader.contact
"""


@dataclass
class News:
    """One person's news: the ids of items above their floor, in order, and the badge."""

    numbers: list[int] = field(default_factory=list)
    newest: int = 0  # the highest id of anybody's items
    unseen: int = 0
    unread: int = 0


def news_of(floors: Mapping[int, int]) -> dict[int, News]:
    """The news of each of these people, above each one's floor."""
    people = list(floors)
    with connection.cursor() as cursor:
        cursor.execute(NEWEST)
        (newest,) = cursor.fetchone()
        news = {person: News(newest=newest) for person in people}
        cursor.execute(NUMBERS, [people, list(floors.values()), MAX_LOOKED_AT])
        for person, number in cursor.fetchall():
            news[person].numbers.append(number)
        cursor.execute(BADGES, [people])
        for person, unseen, unread in cursor.fetchall():
            news[person].unseen, news[person].unread = unseen, unread
    return news
