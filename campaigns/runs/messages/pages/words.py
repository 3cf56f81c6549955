"""Message texts: rendered with the person's values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from campaigns.runs.messages.message import Message
from campaigns.sending.inbox.message_items import ALONE
from campaigns.texts.rendering import Reader, Renderer, Unrenderable
from notifications.people.contact import Contact

Head = tuple[int, int]


def words_of(messages: Iterable[Message], people: dict[int, Contact]) -> dict[Head, dict[str, Any]]:
    """Texts by run and number. If a value is missing, the text is as it was written. Once the
    person is erased, there is no text."""
    messages = list(messages)
    heads = _heads(messages)
    renderers: dict[Head, Renderer] = {}
    texts: dict[Head, dict[str, Any]] = {}
    for message in messages:
        place = _head(message)
        head, person = heads.get(place), people.get(message.contact_id)
        if head is None or not head.content:
            continue
        renderer = renderers.get(place) or Renderer(head.content, collapse_id="")
        renderers[place] = renderer
        texts[message.run_id, message.number] = _words(renderer, head, person)
    return texts


def _words(renderer: Renderer, head: Message, person: Contact | None) -> dict[str, Any]:
    texts: dict[str, Any] = head.content or {}
    if person is None:
        return texts
    reader = Reader(
        reference="",
        external_id=person.external_id,
        attributes={**person.attributes, **(head.variables or {}), **ALONE},
        locale=person.locale,
        timezone=person.timezone,
        kind="",
        address="",
        platform="",
    )
    try:
        return renderer.words(reader)
    except Unrenderable:
        return texts


def _heads(messages: list[Message]) -> dict[Head, Message]:
    """The rows that hold the texts: several messages may share one."""
    places = {_head(message) for message in messages}
    heads: dict[Head, Message] = {}
    for run_id in {run for run, _number in places}:
        numbers = [number for run, number in places if run == run_id]
        rows = Message.objects.filter(run_id=run_id, number__in=numbers)
        heads |= {(row.run_id, row.number): row for row in rows}
    return heads


def _head(message: Message) -> Head:
    return message.run_id, message.shares or message.number
