"""Online: who has a stream open at this moment, and how each feed is doing.

Rows and not keys, so that an emptied Redis does not ring the phone of somebody who is looking at
the inbox. They are not logged: after PostgreSQL has crashed, each feed writes them anew in seconds.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db import connection, models
from django.db.models.functions import Now

EVERY = 10  # seconds, as a feed notes it
FORGOTTEN_AFTER = timedelta(minutes=10)

# In the order of the people: two feeds that note the same ones must not wait for each other.
NOTE_PEOPLE = """
INSERT INTO notifications_online (contact_id, seen_at)
SELECT contact, clock_timestamp() FROM unnest(%s::bigint[]) AS seen (contact) ORDER BY contact
ON CONFLICT (contact_id) DO UPDATE SET seen_at = excluded.seen_at
"""
NOTE_FEED = """
INSERT INTO notifications_feed (name, streams, sent, cut, seen_at)
VALUES (%s, %s, %s, %s, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET streams = excluded.streams, sent = excluded.sent,
    cut = excluded.cut, seen_at = excluded.seen_at
"""


class Online(models.Model):
    """When did this person have a stream open last?"""

    # No key: who is erased is forgotten here within minutes, and nobody waits for anybody.
    contact_id = models.BigIntegerField(primary_key=True)
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "notifications_online"
        indexes = [models.Index(fields=["seen_at"], name="online_by_time")]

    def __str__(self) -> str:
        return f"person {self.contact_id}"


class Feed(models.Model):
    """How many streams does this process hold, and what has it sent since it started?"""

    name = models.CharField(max_length=300, primary_key=True)  # host:port
    streams = models.IntegerField()
    sent = models.BigIntegerField()
    cut = models.BigIntegerField()
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "notifications_feed"

    def __str__(self) -> str:
        return self.name


def online_since(contacts: Collection[int], seconds: int) -> set[int]:
    """Which of these people had a stream open within so many seconds. A feed says so every ten:
    below that, somebody who is there may be missing."""
    recent = Now() - timedelta(seconds=seconds)
    seen = Online.objects.filter(contact_id__in=contacts, seen_at__gte=recent)
    return set(seen.values_list("contact_id", flat=True))


def came(people: Collection[int]) -> None:
    """By a feed: before they hear a word, for a message may come at once."""
    with connection.cursor() as cursor:
        cursor.execute(NOTE_PEOPLE, [list(people)])


def note(name: str, people: Collection[int], *, streams: int, sent: int, cut: int) -> None:
    """By a feed: who is there now, and its own numbers."""
    came(people)
    with connection.cursor() as cursor:
        cursor.execute(NOTE_FEED, [name, streams, sent, cut])


def forget() -> None:
    """Who left long ago."""
    old = Now() - FORGOTTEN_AFTER
    for model in (Online, Feed):
        model._default_manager.filter(seen_at__lt=old).delete()


def feeds() -> models.QuerySet[Feed]:
    """Those that are running."""
    return Feed.objects.filter(seen_at__gte=Now() - timedelta(seconds=3 * EVERY)).order_by("name")
