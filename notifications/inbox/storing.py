"""Storing: stores items for many people at once; an item that is stored again stays one item.

An item that another one replaces is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from notifications.inbox.doorbell import ring_after_commit
from notifications.inbox.item import InboxItem
from notifications.people.consent import eligibility
from notifications.values import exact


@dataclass(frozen=True, slots=True)
class New:
    """An item to be stored. A person has only one item with a reference.

    A text of a higher revision replaces the one before. Its marks, such as seen, stay as they were.
    """

    contact_id: int
    reference: str
    content: dict[str, Any]  # title, body, image, link, data
    article: str = ""
    category: str = ""
    collapse: str = ""
    expires_at: datetime | None = None
    revision: int = 1


# Locks the people until the commit: an erasure waits for it, and then removes these items, too.
MAY = f"""
SELECT c.id FROM notifications_contact c {eligibility.JOIN}
WHERE c.project_id = %s AND c.id = ANY(%s) AND suppressed.id IS NULL
ORDER BY c.external_id FOR KEY SHARE OF c
"""

# In the order of the people, so that two transactions with the same people do not deadlock.
ITEMS = """
INSERT INTO notifications_inboxitem AS stored
    (project_id, contact_id, text_id, category, collapse, reference, expires_at, revision)
SELECT DISTINCT ON (contact, reference) %s, contact, text, category, collapse, reference,
    expires_at, revision
FROM unnest(
    %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::timestamptz[],
    %s::smallint[]
) AS given (contact, text, category, collapse, reference, expires_at, revision)
ORDER BY contact, reference, revision DESC
ON CONFLICT (contact_id, reference) DO UPDATE
    SET text_id = EXCLUDED.text_id, revision = EXCLUDED.revision
    WHERE stored.revision < EXCLUDED.revision
RETURNING contact_id, text_id
"""

TEXTS = """
INSERT INTO notifications_inboxtext (id, project_id, content, article)
SELECT id, %s, content::jsonb, article
FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS given (id, content, article)
"""

# In the same order, for the same reason.
WITHDRAWN = """
WITH wrong AS MATERIALIZED (
    SELECT id FROM notifications_inboxitem
    WHERE contact_id = ANY(%s) AND reference = ANY(%s)
    ORDER BY contact_id, id FOR UPDATE
)
DELETE FROM notifications_inboxitem WHERE id IN (SELECT id FROM wrong) RETURNING contact_id
"""


def store(project_id: int, items: Sequence[New]) -> int:
    """Store items. Returns how many are new or have a new text.

    Suppressed people get none, nor do erased ones. This runs in the caller's transaction: if the
    process dies before its commit, nothing is there.
    """
    if not items:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(MAY, [project_id, list({item.contact_id for item in items})])
        people = {person for (person,) in cursor.fetchall()}
        ours = [item for item in items if item.contact_id in people]
        texts = _number_texts(ours)
        # Texts come second, and only those of new items: the foreign key is checked at the commit.
        cursor.execute(ITEMS, [project_id, *_columns(ours, texts)])
        stored = cursor.fetchall()
        used = {text for _, text in stored}
        rows = [(number, *content) for content, number in texts.items() if number in used]
        if rows:
            cursor.execute(TEXTS, [project_id, *map(list, zip(*rows, strict=True))])
        ring_after_commit(contact for contact, _ in stored)
    return len(stored)


def contacts_with(contacts: Sequence[int], references: Sequence[str]) -> set[int]:
    """Those of these people who have an item with one of these references."""
    found = InboxItem.objects.filter(contact__in=contacts, reference__in=references)
    return set(found.values_list("contact", flat=True))


def withdraw(contacts: Sequence[int], references: Sequence[str]) -> None:
    """Remove the items of these people with these references.

    This runs in the transaction that stores what replaces them.
    """
    with connection.cursor() as cursor:
        cursor.execute(WITHDRAWN, [list(contacts), list(references)])
        ring_after_commit(contact for (contact,) in cursor.fetchall())


Said = tuple[str, str]  # content and article


def _text_of(item: New) -> Said:
    return exact.dumps(item.content).decode(), item.article


def _number_texts(items: Iterable[New]) -> dict[Said, int]:
    """A new id for each different text."""
    texts = list(dict.fromkeys(map(_text_of, items)))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('notifications_inboxtext', 'id'))"
            " FROM generate_series(1, %s)",
            [len(texts)],
        )
        return dict(zip(texts, (number for (number,) in cursor.fetchall()), strict=True))


def _columns(items: Sequence[New], texts: dict[Said, int]) -> list[list[Any]]:
    return [
        [item.contact_id for item in items],
        [texts[_text_of(item)] for item in items],
        [item.category for item in items],
        [item.collapse for item in items],
        [item.reference for item in items],
        [item.expires_at for item in items],
        [item.revision for item in items],
    ]
