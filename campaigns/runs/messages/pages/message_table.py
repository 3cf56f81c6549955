"""Message table: the newest messages, or those that match a search, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.runs.ledger import Delivery
from campaigns.runs.messages import message_pages, outcome
from campaigns.runs.messages.message import Message, known_by
from campaigns.runs.messages.message_pages import MessageFilter, MessageRow
from campaigns.runs.messages.outcome import Outcome
from campaigns.runs.messages.pages.words import words_of
from notifications.people.contact import Contact
from notifications.people.project import Project

PAGE = 50
FEW = 10
LONGEST_SEARCH = 200
STATES = {
    outcome.WAITING: gettext_lazy("Waiting"),
    outcome.SENDING: gettext_lazy("Being sent"),
    outcome.FINISHED: gettext_lazy("Done"),
    outcome.CANCELLED: gettext_lazy("Cancelled"),
}


@dataclass(frozen=True)
class Line:
    """A message with its codes in words. `person` is empty once they are erased."""

    message: Message
    person: str
    title: str
    state: str
    came_of_it: str


def searched(text: str) -> str:
    """The search text without NUL, which PostgreSQL refuses."""
    return text.replace("\0", "").strip()[:LONGEST_SEARCH]


def find_lines(project: Project, text: str, after: int | None) -> tuple[list[Line], int | None]:
    """Messages with this id or key, then the person's. Also where the next page begins."""
    first = _named(project, text) if text and after is None else []
    person = _person(project, text) if text else None
    if text and person is None:
        return _lines(first), None
    page = message_pages.page_of(project.pk, MessageFilter(person), after=after, limit=PAGE)
    known = {row.message.id for row in first}
    return _lines([*first, *(row for row in page.rows if row.message.id not in known)]), page.last


def newest_to(person: Contact) -> tuple[list[Line], int | None]:
    """The newest messages to a person, for their page. Also where the older ones begin."""
    page = message_pages.page_of(person.project_id, MessageFilter(person.pk), after=None, limit=FEW)
    return _lines(page.rows), page.last


def _named(project: Project, text: str) -> list[MessageRow]:
    names = dict.fromkeys([text, known_by(project.pk, [text]).get(text, "")])
    messages = [outcome.find(project.pk, name) for name in names]
    return [
        MessageRow(message, outcome.of_call_or_one(message))
        for message in messages
        if message is not None
    ]


def _person(project: Project, text: str) -> int | None:
    people = Contact.objects.filter(project=project, external_id=text)
    return people.values_list("pk", flat=True).first()


def _lines(rows: list[MessageRow]) -> list[Line]:
    messages = [row.message for row in rows]
    people = Contact.objects.in_bulk({message.contact_id for message in messages})
    words = words_of(messages, people)
    return [
        Line(
            row.message,
            people[row.message.contact_id].external_id if row.message.contact_id in people else "",
            words.get((row.message.run_id, row.message.number), {}).get("title") or "",
            str(STATES[row.outcome.state]),
            in_a_word(row.outcome),
        )
        for row in rows
    ]


def in_a_word(result: Outcome) -> str:
    """The outcomes on the devices: “1 accepted, 2 rejected”."""
    if result.state == outcome.FINISHED and not result.totals["planned"]:
        return _("no device")
    names: dict[str, Any] = {outcome.WAITING: _("Waiting"), **dict(Delivery.Status.choices)}
    return ", ".join(
        f"{count:,} {str(names[status]).lower()}"
        for status, count in result.devices.items()
        if count
    )
