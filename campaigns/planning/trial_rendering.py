"""Outlook: renders a text for the real people whose messages are likely to be the longest."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection

from campaigns.audiences import last_seen
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.selection import compile_tree
from campaigns.runs.reasons import Reason
from campaigns.texts.rendering import Reader, Renderer, Unrenderable
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.values import exact

LOOKING_SECONDS = 2.0
DEVICES_TRIED = 200  # devices of the people with the longest values
AMONG = 10_000  # of the newest people: bounded, and enough to include unusual values


@dataclass(frozen=True)
class Refused:
    """A person whose message cannot be sent, and why."""

    external_id: str
    reason: Reason
    detail: str
    why: str  # the same, for the author of the text
    rejected: bool


@dataclass
class Look:
    """How a launch would end for the devices looked at."""

    readers: list[Reader] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    @property
    def devices(self) -> int:
        return len(self.readers)

    @property
    def hopeless(self) -> bool:
        """Whether FCM would reject the message for all of them."""
        return bool(self.devices) and sum(r.rejected for r in self.refused) == self.devices


# The longest values make the longest messages. Their text is measured, not the message itself:
# rendering ten thousand would take a second.
LONGEST = """
SELECT c.external_id, c.attributes, c.locale, c.timezone, d.kind, d.address, d.platform
FROM {people}
JOIN notifications_device d ON d.contact_id = c.id AND d.retired_at IS NULL AND {fresh}
WHERE c.project_id = %s AND {where}
ORDER BY octet_length(c.attributes::text) DESC LIMIT %s
"""
EVERYBODY = "notifications_contact c"
NEWEST = "(SELECT * FROM notifications_contact WHERE project_id = %s ORDER BY id DESC LIMIT %s) c"


def look(project_id: int, rules: dict[str, Any], renderer: Renderer) -> Look:
    """Render for the people whose message is likely to be the longest; send nothing."""
    outcome = Look(longest(project_id, rules))
    for reader in outcome.readers:
        try:
            renderer.render(reader, ttl_seconds=60)
        except Unrenderable as error:
            outcome.refused.append(_as_refused(reader, error))
    return outcome


def _as_refused(reader: Reader, error: Unrenderable) -> Refused:
    return Refused(reader.external_id, error.reason, error.detail, error.why, error.rejected)


def longest(project_id: int, rules: dict[str, Any]) -> list[Reader]:
    """Return the devices of the people with the longest values. Empty if looking takes too long, or
    if the rules are broken, which other checks report."""
    with suppress(TooSlow, ValidationError), statement_timeout(seconds=LOOKING_SECONDS):
        return _query_longest(project_id, rules)
    return []


def _query_longest(project_id: int, rules: dict[str, Any]) -> list[Reader]:
    where = compile_tree(rules_for_sql(project_id, rules))
    fresh = last_seen.fresh(last_seen.seen_since(project_id))
    own = [project_id, *where.params, DEVICES_TRIED]
    newest = LONGEST.format(people=NEWEST, where=where.sql, fresh=fresh), [project_id, AMONG, *own]
    # A small audience may hold none of the newest people.
    everybody = LONGEST.format(people=EVERYBODY, where=where.sql, fresh=fresh), own
    with connection.cursor() as cursor:
        for statement, params in (newest, everybody):
            cursor.execute(statement, params)
            if rows := cursor.fetchall():
                return [_as_reader(row) for row in rows]
    return []


def _as_reader(row: tuple[Any, ...]) -> Reader:
    external_id, attributes, locale, timezone, kind, address, platform = row
    return Reader(
        reference="0:0",
        external_id=external_id,
        attributes=exact.loads(attributes),
        locale=locale,
        timezone=timezone,
        kind=kind,
        address=address,
        platform=platform,
    )
