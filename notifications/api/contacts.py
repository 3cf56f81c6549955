"""People: many at once, or one by the app's own id of them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications import audit
from notifications.api import tags
from notifications.api.fields import StrictSerializer
from notifications.api.problems import flattened
from notifications.api.reading import read_person
from notifications.api.shapes import ContactSerializer, PersonSerializer
from notifications.api.view import ApiView
from notifications.contact import Contact
from notifications.device import Device, retire
from notifications.registry import Person, upsert

AT_ONCE = 1_000
NOTHING_KNOWN: dict[str, Any] = {"attributes": {}, "locale": "", "timezone": ""}


class ContactRowsSerializer(StrictSerializer):
    # Each row is judged by itself later: a bad one is refused, not the call that brought it.
    contacts = serializers.ListField(max_length=AT_ONCE)


class ContactsGiven(serializers.Serializer[Any]):
    contacts = serializers.ListField(child=ContactSerializer(), max_length=AT_ONCE)


class RejectedRow(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    field = serializers.CharField()
    message = serializers.CharField()


class ContactsTaken(serializers.Serializer[Any]):
    created = serializers.IntegerField()
    updated = serializers.IntegerField()
    rejected = RejectedRow(many=True)


class ContactsBulk(ApiView):
    """Write up to 1,000 people and their devices; addresses move to their new owner."""

    @extend_schema(request=ContactsGiven, responses=ContactsTaken)
    def post(self, request: Request) -> Response:
        people, rejected = _read(self.given(ContactRowsSerializer)["contacts"])
        upserted = upsert(self.project, people, now=timezone.now())
        created = len(upserted.created)
        return Response(
            {"created": created, "updated": len(upserted.ids) - created, "rejected": rejected}
        )


def _read(rows: list[Any]) -> tuple[list[Person], list[dict[str, Any]]]:
    people, rejected = [], []
    for index, row in enumerate(rows):
        try:
            people.append(read_person(row))
        except serializers.ValidationError as error:
            rejected += [{"index": index, **problem} for problem in flattened(error.detail)]
    return people, rejected


class ContactByExternalId(ApiView):
    """One person, by the app's own id."""

    place, tagged = ("api-contact", "external_id"), True

    @extend_schema(responses=ContactSerializer)
    def get(self, request: Request, external_id: str) -> Response:
        return Response(ContactSerializer(self._contact(external_id)).data)

    @extend_schema(
        request=PersonSerializer, responses={200: ContactSerializer, 201: ContactSerializer}
    )
    def put(self, request: Request, external_id: str) -> Response:
        """Replace what is known of a person. Given `devices`, all others of theirs are retired."""
        person = self._told_of(external_id)
        now = timezone.now()
        with transaction.atomic():
            known = self._rows(external_id).select_for_update().first()
            self._refuse_stale(known)
            upserted = upsert(self.project, [person], now=now)
            if known is None and not upserted.created:  # by somebody else, meanwhile
                self._refuse_stale(self._contact(external_id))
            if person.devices is not None:
                # Registered a moment ago, in this transaction, are those that stay.
                others = Device.objects.filter(contact__in=upserted.ids.values())
                gone = others.exclude(registered_at=now).values_list("pk", flat=True)
                retire(gone, reason="removed", sent_at=now, now=now)
            shown = ContactSerializer(self._contact(external_id)).data
        return Response(shown, status=201 if upserted.created else 200)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, external_id: str) -> Response:
        """Erase a person and their devices. Rows of past deliveries stay, without a name."""
        with transaction.atomic():
            contact = self._held(external_id)
            contact_id = contact.pk
            contact.delete()
            # By number: the trail of an erasure must not keep what was erased.
            audit.record(self.actor, "erased", f"contact {contact_id}", project=self.project)
        return Response(status=204)

    def _told_of(self, external_id: str) -> Person:
        """The body may be what GET showed: then its id must be the one of the address."""
        body = self.request.data
        if isinstance(body, dict):
            if body.get("external_id", external_id) != external_id:
                raise serializers.ValidationError({"external_id": "The address names another."})
            body = {**NOTHING_KNOWN, **body, "external_id": external_id}
        return read_person(body)

    def _held(self, external_id: str) -> Contact:
        """Locked until the transaction ends, and what If-Match expects."""
        contact = _one_of(self._rows(external_id).select_for_update())
        self._refuse_stale(contact)
        return contact

    def _refuse_stale(self, contact: Contact | None) -> None:
        tags.refuse_stale(self.request, contact and ContactSerializer(contact).data)

    def _contact(self, external_id: str) -> Contact:
        return _one_of(self._rows(external_id))

    def _rows(self, external_id: str) -> QuerySet[Contact]:
        rows = Contact.objects.filter(project=self.project)
        return rows.none() if "\x00" in external_id else rows.filter(external_id=external_id)


def _one_of(rows: QuerySet[Contact]) -> Contact:
    contact = rows.first()
    if contact is None:
        raise NotFound("There is no such person in this project.")
    return contact
