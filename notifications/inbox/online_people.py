"""Online: who has a stream open at this moment, and how each feed is doing.

These are rows and not Redis keys, so that an emptied Redis does not ring the phone of a person who
is looking at the inbox. The tables are unlogged: after PostgreSQL has crashed, each feed writes its
rows anew in seconds.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db import connection, models
from django.db.models.functions import Now

EVERY = 10  # seconds between two notes of a feed
FORGOTTEN_AFTER = timedelta(minutes=10)

# In the order of the people, so that two feeds that note the same people do not deadlock.
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
    """When a person last had a stream open."""

    # No foreign key: an erased person is forgotten here within minutes, and no transaction waits.
    contact_id = models.BigIntegerField(primary_key=True)
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "notifications_online"
        indexes = [models.Index(fields=["seen_at"], name="online_by_time")]

    def __str__(self) -> str:
        return f"person {self.contact_id}"


class Feed(models.Model):
    """A process that holds streams: how many, and what it has sent since it started."""

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
    """Which of these people had a stream open within so many seconds.

    A feed notes it every ten seconds: with fewer, a person who is there may be missing.
    """
    recent = Now() - timedelta(seconds=seconds)
    seen = Online.objects.filter(contact_id__in=contacts, seen_at__gte=recent)
    return set(seen.values_list("contact_id", flat=True))


def came(people: Collection[int]) -> None:
    """Note people who connect to a feed, before it sends anything: a message may come at once."""
    with connection.cursor() as cursor:
        cursor.execute(NOTE_PEOPLE, [list(people)])


def note(name: str, people: Collection[int], *, streams: int, sent: int, cut: int) -> None:
    """Note who is connected to a feed now, and the feed's own numbers."""
    came(people)
    with connection.cursor() as cursor:
        cursor.execute(NOTE_FEED, [name, streams, sent, cut])


def forget() -> None:
    """Delete the rows of people and feeds that left long ago."""
    old = Now() - FORGOTTEN_AFTER
    for model in (Online, Feed):
        model._default_manager.filter(seen_at__lt=old).delete()


def feeds() -> models.QuerySet[Feed]:
    """The feeds that are running."""
    return Feed.objects.filter(seen_at__gte=Now() - timedelta(seconds=3 * EVERY)).order_by("name")
