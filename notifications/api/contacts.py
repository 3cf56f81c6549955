"""People: many at once, or one by the app's own id of them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications import audit
from notifications.api.fields import StrictSerializer
from notifications.api.idempotency import idempotent
from notifications.api.patience import patient
from notifications.api.problems import flattened
from notifications.api.reading import read_person
from notifications.api.rendering import ExactParser
from notifications.api.shapes import ContactSerializer, PersonSerializer
from notifications.api.view import ApiView
from notifications.contact import Contact
from notifications.registry import Person, replace_one, upsert

AT_ONCE = 1_000
NOBODY = "There is no such person in this project."
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

    parser_classes = [ExactParser]

    @extend_schema(request=ContactsGiven, responses=ContactsTaken)
    @patient
    @idempotent
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

    parser_classes = [ExactParser]

    @extend_schema(responses=ContactSerializer)
    def get(self, request: Request, external_id: str) -> Response:
        return Response(ContactSerializer(self._contact(external_id)).data)

    @extend_schema(
        request=PersonSerializer, responses={200: ContactSerializer, 201: ContactSerializer}
    )
    @patient
    def put(self, request: Request, external_id: str) -> Response:
        """Replace what is known of a person. Given `devices`, all others of theirs are retired."""
        person = self._told_of(external_id)
        with transaction.atomic():
            upserted = replace_one(self.project, person, now=timezone.now())
            shown = ContactSerializer(self._contact(external_id)).data
        return Response(shown, status=201 if upserted.created else 200)

    @extend_schema(responses={204: None})
    @patient
    def delete(self, request: Request, external_id: str) -> Response:
        """Erase a person and their devices. Rows of past deliveries stay, without a name."""
        contact = self._contact(external_id)
        with transaction.atomic():
            contact_id = contact.pk
            if not contact.delete()[0]:
                raise NotFound(NOBODY)
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

    def _contact(self, external_id: str) -> Contact:
        known = Contact.objects.filter(project=self.project, external_id=external_id)
        contact = None if "\x00" in external_id else known.first()
        if contact is None:
            raise NotFound(NOBODY)
        return contact
