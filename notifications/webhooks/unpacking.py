"""Unpacking: turns rows of the outbox into calls, each with the name it keeps."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import transaction

from notifications.webhooks import call, event_types
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.outbox import Event, Outgoing, notify_workers, ripe
from notifications.webhooks.person_data import without_the_erased

AT_ONCE = 200  # rows
BATCH = 500  # events in a call
BATCH_BYTES = 1_000_000  # about; most servers refuse a larger body

Told = dict[str, Any]


def unpack(*, now: datetime) -> int:
    """Turn rows of the outbox into calls. Returns how many rows.

    An endpoint that takes batches waits until its next call may leave: more events may come.

    If the process dies here: rows and calls are as they were.
    """
    with transaction.atomic():
        held = ripe(now).select_for_update(skip_locked=True, of=("self",))
        rows = list(held.order_by("pk")[:AT_ONCE])
        Call.objects.bulk_create(_calls(rows, now))
        Outgoing.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def _calls(rows: list[Outgoing], now: datetime) -> Iterator[Call]:
    """The calls of these rows. Events for a deleted endpoint are dropped."""
    of_endpoint: dict[int, list[Told]] = defaultdict(list)
    for row in rows:
        of_endpoint[row.endpoint_id] += _events_of(row)
    endpoints = list(Endpoint.objects.filter(pk__in=of_endpoint).order_by("pk"))
    by_project: dict[int, list[Told]] = defaultdict(list)
    for endpoint in endpoints:
        by_project[endpoint.project_id] += of_endpoint[endpoint.pk]
    without_the_erased(by_project)
    for endpoint in endpoints:
        for part in _parts(endpoint, of_endpoint[endpoint.pk]):
            yield call.make_call(
                endpoint, part[0]["id"] if len(part) == 1 else _new_id(), part, now=now
            )


def _events_of(row: Outgoing) -> list[Told]:
    return [{"id": f"evt_{row.key.hex}_{n}", **event} for n, event in enumerate(row.events)]


def _parts(endpoint: Endpoint, events: list[Told]) -> Iterator[list[Told]]:
    if endpoint.is_for_people:
        events = _without_repeated_pauses(events)
    if not endpoint.batched:
        yield from ([event] for event in events)
        return
    part: list[Told] = []
    size = 0
    for event in events:
        size += len(str(event))
        if part and (len(part) == BATCH or size > BATCH_BYTES):
            yield part
            part, size = [], len(str(event))
        part.append(event)
    if part:
        yield part


def _without_repeated_pauses(events: list[Told]) -> list[Told]:
    """The events without “run paused” if the same pause is reported as “needs a person”."""
    needy = {
        (event["timestamp"], event["data"]["run"])
        for event in events
        if event["type"] == event_types.EventType.RUN_NEEDS_A_PERSON
    }
    return [
        event
        for event in events
        if event["type"] != event_types.EventType.RUN_PAUSED
        or (event["timestamp"], event["data"]["run"]) not in needy
    ]


def _new_id() -> str:
    return f"msg_{uuid.uuid4().hex}"


def test(endpoint: Endpoint, *, now: datetime) -> Call:
    """Make a test call, which says nothing but that it arrives."""
    event = Event(event_types.TEST, now, {"endpoint": endpoint.pk, "name": endpoint.name})
    name = f"evt_{uuid.uuid4().hex}_0"
    test_call = call.make_call(endpoint, name, [{"id": name, **event.as_json()}], now=now)
    test_call.is_test = True
    test_call.save()
    notify_workers()
    return test_call
