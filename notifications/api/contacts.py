"""People: many at once, or one by the app's own id of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.ground import pages, tags
from notifications.api.ground.fields import CountedList, StrictSerializer
from notifications.api.ground.idempotency import idempotent
from notifications.api.ground.patience import patient
from notifications.api.ground.problems import flattened
from notifications.api.ground.query import takes
from notifications.api.ground.rendering import ExactParser
from notifications.api.ground.view import ApiView
from notifications.api.reading import read_person
from notifications.api.shapes import ContactSerializer, PersonSerializer
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.registry import TOLD, Person, replace_one, upsert
from notifications.postgres.budget import TooSlow, within
from notifications.staff import audit
from notifications.staff.subjects import HIDDEN, Subject
from notifications.values import exact

CONTACTS_AT_ONCE = 1_000
NOBODY = "There is no such person in this project."
NO_OBJECT = "Must be an object."
LOOKING_SECONDS = 3.0
EXAMPLE = OpenApiExample(
    "Ada and her phone",
    {
        "contacts": [
            {
                "external_id": "ada",
                "attributes": {"first_name": "Ada", "plan": "gold"},
                "locale": "en",
                "timezone": "Asia/Seoul",
                "devices": [{"token": "live-ada", "platform": "ios", "app_version": "5.1"}],
            }
        ]
    },
    request_only=True,
)
EVERY_PERSON = Subject("contact")
NOTHING_KNOWN: dict[str, Any] = {"attributes": {}, "locale": "", "timezone": ""}


class ContactRowsSerializer(StrictSerializer):
    # Each row is judged by itself later: a bad one is refused, not the call that brought it.
    contacts = CountedList(max_length=CONTACTS_AT_ONCE)


class ContactsSerializer(serializers.Serializer[Any]):
    """People to write."""

    contacts = CountedList(child=ContactSerializer(), max_length=CONTACTS_AT_ONCE)


class RejectedRow(serializers.Serializer[Any]):
    """A person who was not written, and why."""

    index = serializers.IntegerField()
    field = serializers.CharField()
    message = serializers.CharField()


class ContactsTaken(serializers.Serializer[Any]):
    """What became of those who were sent."""

    created = serializers.IntegerField()
    updated = serializers.IntegerField()
    rejected = RejectedRow(many=True)


class ContactFilters(serializers.Serializer[Any]):
    external_id_prefix = serializers.CharField(
        max_length=200, required=False, trim_whitespace=False
    )
    updated_since = serializers.DateTimeField(required=False)


class Contacts(ApiView):
    @takes(
        *pages.PARAMETERS,
        OpenApiParameter("external_id_prefix", str, description="How their id starts."),
        OpenApiParameter("updated_since", datetime, description="RFC 3339, inclusive."),
    )
    @extend_schema(operation_id="contacts_list", responses=pages.schema_of(ContactSerializer))
    def get(self, request: Request) -> Response:
        """Everybody, newest first."""
        asked = self.given(ContactFilters, request.query_params.dict())
        in_order = Prefetch("devices", Device.objects.order_by("pk"))
        people = _among(Contact.objects.filter(project=self.project), **asked)
        with _not_for_ever() if "updated_since" in asked else nullcontext():
            return pages.page_by_id(
                request, people.prefetch_related(in_order), ContactSerializer().to_representation
            )


def _among(
    people: QuerySet[Contact],
    external_id_prefix: str | None = None,
    updated_since: datetime | None = None,
) -> QuerySet[Contact]:
    if external_id_prefix is not None:
        # There is an index of the starts, whatever their case.
        people = people.filter(
            external_id__istartswith=external_id_prefix, external_id__startswith=external_id_prefix
        )
    if updated_since is not None:
        people = people.filter(updated_at__gte=updated_since)
    return people


@contextmanager
def _not_for_ever() -> Iterator[None]:
    """Of when somebody changed there is no index: it would slow down every write of a person."""
    try:
        with within(seconds=LOOKING_SECONDS):
            yield
    except TooSlow as error:
        found = "Too few were changed since then to be found in time. Give external_id_prefix, too."
        raise serializers.ValidationError({"updated_since": found}) from error


class ContactsBulk(ApiView):
    parser_classes = [ExactParser]

    @extend_schema(request=ContactsSerializer, responses=ContactsTaken, examples=[EXAMPLE])
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Write up to 1,000 people and their devices; addresses move to their new owner. A row
        that does not fit is refused, and the others are written."""
        people, rejected = _read(self.given(ContactRowsSerializer)["contacts"])
        with transaction.atomic():
            upserted = upsert(self.project, people, now=timezone.now())
            created = len(upserted.created)
            told: dict[str, Any] = {"created": created, "updated": len(upserted.ids) - created}
            if upserted.ids:  # one entry of them all, not a thousand
                counts = {**told, "rejected": len({row["index"] for row in rejected})}
                audit.record(self.actor, "wrote", EVERY_PERSON, project=self.project, **counts)
        return Response({**told, "rejected": rejected})


def _read(rows: list[Any]) -> tuple[list[Person], list[dict[str, Any]]]:
    people, rejected = [], []
    for index, row in enumerate(rows):
        try:
            people.append(read_person(row))
        except serializers.ValidationError as error:
            rejected += [{"index": index, **problem} for problem in flattened(error.detail)]
    return people, rejected


class ContactByExternalId(ApiView):
    place, tagged = ("api-contact", "external_id"), True

    parser_classes = [ExactParser]

    @extend_schema(responses=ContactSerializer)
    def get(self, request: Request, external_id: str) -> Response:
        """One person, by the app's own id."""
        return Response(ContactSerializer(self._contact(external_id)).data)

    @extend_schema(
        request=PersonSerializer, responses={200: ContactSerializer, 201: ContactSerializer}
    )
    @patient
    def put(self, request: Request, external_id: str) -> Response:
        """Replace what is known of a person. Given `devices`, all others of theirs are retired."""
        if request.stream is None:  # an empty object is a person of whom nothing is known
            raise serializers.ValidationError({"": NO_OBJECT})
        person = read_person({**NOTHING_KNOWN, **self._told_of(external_id)})
        with transaction.atomic():
            known = self._locked(external_id).first()
            self._refuse_stale(known)
            created = replace_one(self.project, person, now=timezone.now()).created
            if known is None and not created:  # by somebody else, meanwhile
                self._refuse_stale(self._contact(external_id))
            contact = self._contact(external_id)
            self._record(known, contact)
            shown = ContactSerializer(contact).data
        return Response(shown, status=201 if created else 200)

    @extend_schema(request=PersonSerializer, responses=ContactSerializer)
    @patient
    def patch(self, request: Request, external_id: str) -> Response:
        """Change what is given; what is left out stays. Attributes are merged as JSON Merge Patch
        (RFC 7396) says: null removes one. Given `devices`, all others of theirs are retired."""
        told = self._told_of(external_id)
        with transaction.atomic():
            contact = self._held(external_id)
            if "attributes" in told:
                told["attributes"] = merged(contact.attributes, told["attributes"])
            person = read_person(told)
            if _changes(contact, person):
                replace_one(self.project, person, now=timezone.now())
            now = self._contact(external_id)
            self._record(contact, now)
            shown = ContactSerializer(now).data
        return Response(shown)

    @extend_schema(responses={204: None})
    @patient
    def delete(self, request: Request, external_id: str) -> Response:
        """Erase a person and their devices. Rows of past deliveries stay, without a name."""
        with transaction.atomic():
            contact = self._held(external_id)
            # By number: the trail of an erasure must not keep what was erased.
            audit.record(self.actor, "erased", contact, project=self.project)
            contact.delete()
        return Response(status=204)

    def _record(self, before: Contact | None, now: Contact) -> None:
        """Which fields, and not what is in them. Devices come and go with an app: in no trail."""
        changes: dict[str, list[Any]] = {
            name: [HIDDEN, HIDDEN]
            for name in (TOLD if before else ())
            if _as_written(getattr(before, name)) != _as_written(getattr(now, name))
        }
        if before is None or changes:
            action = "changed" if before else "created"
            audit.record(self.actor, action, now, project=self.project, changes=changes)

    def _told_of(self, external_id: str) -> dict[str, Any]:
        """The body may be what GET showed: then its id must be the one of the address."""
        body = self.request.data
        if not isinstance(body, dict):
            raise serializers.ValidationError({"": NO_OBJECT})
        if body.get("external_id", external_id) != external_id:
            raise serializers.ValidationError({"external_id": "The address names another."})
        return {**body, "external_id": external_id}

    def _held(self, external_id: str) -> Contact:
        """Locked until the transaction ends, and what If-Match expects."""
        contact = _one_of(self._locked(external_id))
        self._refuse_stale(contact)
        return contact

    def _refuse_stale(self, contact: Contact | None) -> None:
        tags.refuse_stale(self.request, contact and ContactSerializer(contact).data)

    def _contact(self, external_id: str) -> Contact:
        return _one_of(self._rows(external_id))

    def _locked(self, external_id: str) -> QuerySet[Contact]:
        """In the order of registry.py: a person before their devices."""
        return self._rows(external_id).select_for_update(no_key=self.request.method != "DELETE")

    def _rows(self, external_id: str) -> QuerySet[Contact]:
        rows = Contact.objects.filter(project=self.project)
        return rows.none() if "\x00" in external_id else rows.filter(external_id=external_id)


def _changes(contact: Contact, person: Person) -> bool:
    """Whether there is anything new in what is told. Devices always are: they were seen now."""
    told = {name: getattr(person, name) for name in TOLD if getattr(person, name) is not None}
    known = {name: getattr(contact, name) for name in told}
    return person.devices is not None or _as_written(told) != _as_written(known)


def _as_written(value: Any) -> bytes:
    """To Python, 1 is 1.0 is True."""
    return exact.dumps(value, orjson.OPT_SORT_KEYS)


def merged(value: Any, change: Any) -> Any:
    """JSON Merge Patch: objects are merged, null removes, everything else is replaced."""
    if not isinstance(change, dict):
        return change
    kept = dict(value) if isinstance(value, dict) else {}
    for name, inner in change.items():
        if inner is None:
            kept.pop(name, None)
        else:
            kept[name] = merged(kept.get(name), inner)
    return kept


def _one_of(rows: QuerySet[Contact]) -> Contact:
    contact = rows.first()
    if contact is None:
        raise NotFound(NOBODY)
    return contact
