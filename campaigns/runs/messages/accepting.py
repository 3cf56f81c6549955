"""Accepting: messages become rows, in one transaction. From its commit on they will be sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from campaigns.runs.messages.day import run_of_today
from campaigns.runs.messages.message import NUMBERS, Message, first_of
from notifications.people.contact import Contact
from notifications.people.device import Device


@dataclass(frozen=True)
class Accepted:
    """The message that a call stands for."""

    id: str
    again: bool = False  # an earlier call with its key made it


Place = tuple[int, int | None]  # the person, and the device if it is only one


class Nobody(Exception):
    """The person or the device is not known, and this is where the call named them."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


def accept(project_id: int, asked: list[dict[str, Any]]) -> list[Accepted | Nobody]:
    """Each by itself: whom nobody knows does not keep the others from it.

    If the process dies here: none of them is there, and nobody was told so.
    """
    people, devices = _people(project_id, asked), _devices(project_id, asked)
    run_id = run_of_today(project_id)
    with transaction.atomic():
        numbers = iter(_numbers(len(asked)))
        rows: list[Message] = []
        answers: dict[int, Accepted | Nobody] = {}
        # In the order of their keys: two calls with the same ones must not wait for each other.
        for index in sorted(range(len(asked)), key=lambda place: _key(asked[place])):
            to = asked[index]["to"]
            found = people.get(to["contact"]) if "contact" in to else devices.get(to["device"])
            if found is None:
                answers[index] = Nobody(f"to.{next(iter(to))}")
                continue
            row = _row(run_id, next(numbers), found, asked[index])
            answers[index] = first = _first(project_id, row, asked[index])
            if not first.again:
                rows.append(row)
        Message.objects.bulk_create(rows)
    return [answers[index] for index in range(len(asked))]


def _people(project_id: int, asked: list[dict[str, Any]]) -> dict[str, Place]:
    names = {one["to"]["contact"] for one in asked if "contact" in one["to"]}
    found = Contact.objects.filter(project=project_id, external_id__in=names)
    rows = found.values_list("external_id", "pk") if names else ()
    return {name: (contact, None) for name, contact in rows}


def _devices(project_id: int, asked: list[dict[str, Any]]) -> dict[str, Place]:
    named = {one["to"]["device"] for one in asked if "device" in one["to"]}
    found = Device.objects.filter(project=project_id, address__in=named, retired_at=None)
    rows = found.values_list("address", "contact_id", "pk") if named else ()
    return {address: (contact, device) for address, contact, device in rows}


def _numbers(count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT nextval('{NUMBERS}') FROM generate_series(1, %s)", [count])
        return [number for (number,) in cursor.fetchall()]


def _key(one: dict[str, Any]) -> str:
    key: str = one.get("deduplicate", {}).get("key", "")
    return key


def _first(project_id: int, row: Message, one: dict[str, Any]) -> Accepted:
    if not (told := one.get("deduplicate")):
        return Accepted(row.id)
    first = first_of(project_id, told["key"], row.id, told["window_seconds"])
    return Accepted(first, again=first != row.id)


def _row(run_id: int, number: int, found: Place, one: dict[str, Any]) -> Message:
    category = one.get("category")
    at: datetime = one.get("at") or timezone.now()
    return Message(
        run_id=run_id,
        number=number,
        contact_id=found[0],
        device_id=found[1],
        content=one["content"],
        variables=one.get("variables", {}),
        category_kind=category.kind if category else "",
        category=category.slug if category else "",
        on_unknown=one["on_unknown"],
        ttl_seconds=one["ttl_seconds"],
        collapse=one.get("collapse", ""),
        inbox=one.get("into_inbox"),
        state=Message.State.WAITING,
        at=at,
    )
