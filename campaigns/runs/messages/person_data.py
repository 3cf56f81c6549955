"""Person data: a person's stored messages, for their export and their erasure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection, models

from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from notifications.people.contact import Contact

# A text that messages to other people share stays for these.
CLEAR = """
UPDATE campaigns_message m SET
    state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END,
    content = CASE WHEN content IS NULL OR shared THEN content ELSE '{}' END,
    variables = CASE WHEN content IS NULL OR shared THEN variables ELSE '{}' END,
    inbox = CASE WHEN content IS NULL OR shared THEN inbox END
FROM (
    SELECT run_id, number, list_after IS NOT NULL OR EXISTS (
        SELECT FROM campaigns_message other
        WHERE other.run_id = mine.run_id AND other.shares = mine.number
    ) AS shared
    FROM campaigns_message mine
    WHERE contact_id = ANY(%(people)s) AND run_id = ANY(%(runs)s)
) theirs
WHERE m.run_id = theirs.run_id AND m.number = theirs.number AND m.run_id = ANY(%(runs)s)
"""


def forget(contact_ids: Sequence[int]) -> None:
    """Clear the texts and variables of these people's messages, and cancel those not sent yet."""
    projects = Contact.objects.filter(pk__in=contact_ids).values("project").distinct()
    runs = list(
        Run.every.filter(_existing_days(), project__in=projects).values_list("pk", flat=True)
    )
    if not runs:
        return
    with connection.cursor() as cursor:
        cursor.execute(CLEAR, {"people": list(contact_ids), "runs": runs})


def _existing_days() -> Any:
    """Days whose messages still exist."""
    return models.Q(kind=Run.Kind.MESSAGES, forgotten_at=None)


def messages_of(contact: Contact) -> Iterator[dict[str, Any]]:
    """All messages to a person, newest first."""
    days = Run.every.filter(_existing_days(), project=contact.project_id).order_by("-pk")
    for run_id in days.values_list("pk", flat=True):
        messages = Message.objects.filter(run_id=run_id, contact_id=contact.pk).order_by("-number")
        for message in messages.iterator():
            yield _message_data(message)


def _message_data(message: Message) -> dict[str, Any]:
    head = message
    if message.shares:
        head = Message.objects.get(run_id=message.run_id, number=message.shares)
    return {
        "id": message.id,
        "state": message.state,
        "at": message.at,
        "created_at": message.created_at,
        "category": message.category,
        "content": head.content,
        "variables": head.variables,
        "inbox": head.inbox,
    }
