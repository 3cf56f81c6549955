"""Inbox items of messages: stored when messages are taken, withdrawn when they are cancelled."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection
from psycopg.rows import namedtuple_row

from campaigns.runs.messages.message import id_of
from campaigns.sending.inbox.item import item_of
from campaigns.sending.message_settings import UNSEEN
from campaigns.texts.rendering import Reader, Renderer
from notifications.inbox import storing
from notifications.inbox.storing import New, store
from notifications.postgres import clock
from notifications.values import exact

# People without a device, or who want no pushes of this category, get the item all the same. In a
# call to many, the first message has the text.
THEIRS = """
SELECT m.number, h.content::text, h.variables::text, m.category, h.collapse, h.inbox::text,
    c.project_id, c.id AS contact_id, c.external_id, c.attributes::text, c.locale, c.timezone
FROM campaigns_message m
JOIN campaigns_message h ON h.run_id = m.run_id AND h.number = COALESCE(m.shares, m.number)
JOIN notifications_contact c ON c.id = m.contact_id
WHERE m.run_id = %(run)s AND m.number = ANY(%(numbers)s) AND h.inbox IS NOT NULL
ORDER BY m.number
"""

# A push may say how many items a person has not seen; an inbox item always counts as one.
ALONE = {UNSEEN: 1}


def keep(run_id: int, numbers: list[int]) -> None:
    """Store the items of messages, in the transaction that takes them: each message is taken once,
    so its item is stored once."""
    with connection.cursor() as cursor:
        cursor.cursor.row_factory = namedtuple_row
        cursor.execute(THEIRS, {"run": run_id, "numbers": numbers})
        rows = cursor.fetchall()
    if rows:
        renderers: dict[str, Renderer] = {}
        items = [_item(run_id, row, renderers) for row in rows]
        store(rows[0].project_id, [item for item in items if item])


def withdraw(run_id: int, cancelled: list[tuple[int, int]]) -> None:
    """Withdraw the items of these (number, contact) pairs, in the transaction that cancels the
    messages."""
    people = [contact for _, contact in cancelled]
    storing.withdraw(people, [_reference(run_id, number) for number, _ in cancelled])


def _reference(run_id: int, number: int) -> str:
    return f"message {id_of(run_id, number)}"


def _item(run_id: int, row: Any, renderers: dict[str, Renderer]) -> New | None:
    renderer = renderers.get(row.content)
    if renderer is None:
        renderer = Renderer(exact.loads(row.content), collapse_id="")
        renderers[row.content] = renderer
    inbox, days = exact.loads(row.inbox), None
    reader = Reader(
        reference="",
        external_id=row.external_id,
        attributes={**exact.loads(row.attributes), **exact.loads(row.variables), **ALONE},
        locale=row.locale,
        timezone=row.timezone,
        kind="",
        address="",
        platform="",
    )
    days = inbox.get("days")
    return item_of(
        renderer,
        reader,
        contact_id=row.contact_id,
        reference=_reference(run_id, row.number),
        article=inbox.get("article", ""),
        category=row.category,
        collapse=row.collapse,
        expires_at=clock.now() + timedelta(days=int(days)) if days else None,
    )
