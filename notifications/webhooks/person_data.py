"""Person data: what calls say about one person, for their export and for their erasure.

The log keeps calls for weeks, and sends them again on request. So the transaction that erases a
person also takes their external id and their addresses out of all calls; the numbers stay. An event
that is not a call yet loses them as it becomes one (see unpacking.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection

from notifications.people.contact import Contact
from notifications.webhooks.call import CONTACTS, Call
from notifications.webhooks.endpoint import Endpoint

AT_ONCE = 500  # calls
PERSONAL = ("contact", "device")  # in the data of any event: an external id, an address

# Written as in the index calls_about_people.
FIND = f"""
SELECT id, endpoint_id FROM notifications_call
WHERE jsonb_path_query_array(events, '{CONTACTS}') ?| %s AND endpoint_id = ANY(%s)
"""
# The answer goes, too: the receiver may have repeated what it was told.
CLEAR = """
UPDATE notifications_call call SET answer = '', events = (
    SELECT jsonb_agg(
        CASE WHEN event -> 'data' ->> 'contact' = ANY(%(names)s)
        THEN jsonb_set(event, '{data}', (event -> 'data') || (
            SELECT jsonb_object_agg(key, NULL) FROM unnest(%(personal)s::text[]) AS key
            WHERE event -> 'data' ? key
        )) ELSE event END ORDER BY place
    ) FROM jsonb_array_elements(events) WITH ORDINALITY AS one (event, place)
) WHERE id = ANY(%(calls)s)
"""
# An erasure waits until events that are becoming calls have become them, and the other way round:
# otherwise neither would see what the other does. Erasures do not wait for each other.
SIDE_BY_SIDE = "SELECT pg_advisory_xact_lock_shared(hashtextextended('calls of project ' || %s, 0))"
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('calls of project ' || %s, 0))"


# --- Erased ---------------------------------------------------------------------------------------


def forget(contact_ids: Sequence[int]) -> None:
    """Take people out of all calls, in the transaction that erases them.

    If the process dies here: they are still there.
    """
    names: dict[int, list[str]] = defaultdict(list)
    people = Contact.objects.filter(pk__in=contact_ids)
    for project_id, name in people.values_list("project_id", "external_id"):
        names[project_id].append(name)
    for project_id in sorted(names):
        _forget(project_id, names[project_id])


def _forget(project_id: int, names: list[str]) -> None:
    endpoints = _endpoints(project_id)
    if not endpoints:
        return
    with connection.cursor() as cursor:
        cursor.execute(SIDE_BY_SIDE, [project_id])
        cursor.execute(FIND, [names, list(endpoints)])
        calls = dict(cursor.fetchall())
        if not calls:
            return
        _hold(calls)
        params = {"names": names, "personal": list(PERSONAL), "calls": list(calls)}
        cursor.execute(CLEAR, params)


def _endpoints(project_id: int) -> dict[int, str]:
    return dict(Endpoint.objects.filter(project=project_id).values_list("pk", "name"))


def _hold(calls: dict[int, int]) -> None:
    """Lock the endpoints and then their calls, in the order of claiming and settling."""
    theirs = Endpoint.objects.filter(pk__in=set(calls.values())).order_by("pk")
    list(theirs.select_for_update(no_key=True).values_list("pk", flat=True))
    held = Call.objects.filter(pk__in=calls).order_by("pk")
    list(held.select_for_update(no_key=True).values_list("pk", flat=True))


# --- What is not a call yet -----------------------------------------------------------------------


def without_the_erased(events: dict[int, list[dict[str, Any]]]) -> None:
    """Take erased people out of events that are about to become calls, by project.

    Nobody is erased until the transaction ends.
    """
    for project_id in sorted(events):
        about_people = [
            event for event in events[project_id] if event["data"].get("contact") is not None
        ]
        if not about_people:
            continue
        with connection.cursor() as cursor:
            cursor.execute(ALONE, [project_id])
        existing = _existing_contacts(
            project_id, {event["data"]["contact"] for event in about_people}
        )
        for event in about_people:
            if event["data"]["contact"] not in existing:
                data = event["data"]
                event["data"] = data | {key: None for key in PERSONAL if key in data}


def _existing_contacts(project_id: int, names: Iterable[str]) -> set[str]:
    contacts = Contact.objects.filter(project=project_id, external_id__in=list(names))
    return set(contacts.values_list("external_id", flat=True))


# --- Shown ----------------------------------------------------------------------------------------


def reports_of(contact: Contact) -> Iterator[dict[str, Any]]:
    """The reports about a person that other systems got, without events about other people."""
    endpoints = _endpoints(contact.project_id)
    with connection.cursor() as cursor:
        cursor.execute(FIND, [[contact.external_id], list(endpoints)])
        ids = sorted(pk for pk, _ in cursor.fetchall())
    for at in range(0, len(ids), AT_ONCE):
        for call in Call.objects.filter(pk__in=ids[at : at + AT_ONCE]).order_by("pk"):
            events = [
                one for one in call.events if one["data"].get("contact") == contact.external_id
            ]
            yield {
                "endpoint": endpoints[call.endpoint_id],
                "delivery": call.name,
                "state": call.state,
                "tried_at": call.tried_at,
                "events": events,
            }
