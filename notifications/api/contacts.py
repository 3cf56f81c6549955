"""People: many at once, or one by external id."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache, partial
from typing import Any

import orjson
from django.core.exceptions import ValidationError as Invalid
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base import pages, query, tags
from notifications.api.base.fields import CountedList, Moment, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient, slow
from notifications.api.base.problems import NO_OBJECT, flattened
from notifications.api.base.query import takes
from notifications.api.base.rendering import ExactParser
from notifications.api.base.view import ApiView
from notifications.api.reading import read_person, refuse_types
from notifications.api.shapes import ContactSerializer, PersonSerializer
from notifications.api.words import Slugs
from notifications.people import contact_search
from notifications.people.attributes import types_of
from notifications.people.consent.category import slugs_of
from notifications.people.consent.record import record_answers
from notifications.people.contact import Contact, validate_attributes
from notifications.people.contact_search import SearchFilters
from notifications.people.device import Device
from notifications.people.registry import TOLD, Person, replace_one, upsert
from notifications.postgres.budget import TooSlow
from notifications.staff import audit
from notifications.staff.changes import HIDDEN
from notifications.staff.subjects import Subject
from notifications.values import exact, flaws

CONTACTS_AT_ONCE = 1_000
NOBODY = "There is no such person in this project."
LONGEST_ASKED = 2_000
TOO_LONG = f"At most {LONGEST_ASKED:,} characters."
NO_VALUES = 'Must be a JSON object of values, e.g. {"plan": "gold"}.'
TOO_FEW = "Finding these people takes too long. Also give the start of their id, in q."
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
    # Each row is checked by itself later: a bad row is rejected, not the whole call.
    contacts = CountedList(max_length=CONTACTS_AT_ONCE)


class ContactsSerializer(StrictSerializer):
    """People to write."""

    contacts = CountedList(child=ContactSerializer(), max_length=CONTACTS_AT_ONCE)


class RejectedRow(serializers.Serializer[Any]):
    """A person who was not written, and why."""

    index = serializers.IntegerField()
    field = serializers.CharField()
    message = serializers.CharField()


class ContactsTaken(serializers.Serializer[Any]):
    """How many people were created and updated, and which rows were rejected."""

    created = serializers.IntegerField()
    updated = serializers.IntegerField()
    rejected = RejectedRow(many=True)


class AttributesAsked(serializers.Field[Any, Any, Any, Any]):
    """A JSON object: people who have exactly these values."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if len(data) > LONGEST_ASKED:
            raise serializers.ValidationError(TOO_LONG)
        try:
            attributes = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise serializers.ValidationError(NO_VALUES) from error
        if not isinstance(attributes, dict) or not attributes:
            raise serializers.ValidationError(NO_VALUES)
        if flaws.may_name_twice(data.encode(), attributes):
            _, found = flaws.find(data.encode(), exactly=False)
            if twice := {flaw.within(0): flaw.message for flaw in found}:
                raise serializers.ValidationError(twice)
        try:
            validate_attributes(attributes)
        except Invalid as error:
            raise serializers.ValidationError(error.messages) from error
        return attributes


class ContactFilters(serializers.Serializer[Any]):
    q = serializers.CharField(max_length=200, required=False, trim_whitespace=False)
    attributes = AttributesAsked(required=False)
    platform = serializers.ChoiceField(
        choices=Device.Platform.choices,
        required=False,
        error_messages={"invalid_choice": f"Use one of {', '.join(Device.Platform.values)}."},
    )
    subscribed = serializers.BooleanField(required=False)
    external_id_prefix = serializers.CharField(
        max_length=200, required=False, trim_whitespace=False
    )
    updated_since = Moment(required=False)


class Contacts(ApiView):
    @takes(
        *pages.PARAMETERS,
        query.text("q", "The start of the external id, upper or lower case."),
        query.text("external_id_prefix", "The start of the external id, case-sensitive."),
        query.text(
            "attributes",
            'A JSON object of values they must have: {"plan": "gold"}.',
            r"^\s*\{[^\x00]+\}\s*$",
            longest=LONGEST_ASKED,
        ),
        OpenApiParameter(
            "platform",
            str,
            enum=Device.Platform.values,
            description="People with an active device on this platform.",
        ),
        OpenApiParameter(
            "subscribed", bool, description="Subscribed people only, or unsubscribed only."
        ),
        OpenApiParameter(
            "updated_since",
            datetime,
            description="People changed at or after this time (RFC 3339).",
        ),
    )
    @extend_schema(operation_id="contacts_list", responses=pages.schema_of(ContactSerializer))
    def get(self, request: Request) -> Response:
        """All people, or those who match the filters, newest first."""
        filters = self.given(ContactFilters, request.query_params.dict())
        try:
            return self._search(filters) if filters else self._page(filters)
        except TooSlow as error:
            raise serializers.ValidationError(dict.fromkeys(filters, TOO_FEW)) from error

    @slow
    def _search(self, filters: dict[str, Any]) -> Response:
        return contact_search.run_search(lambda: self._page(filters))

    def _page(self, filters: dict[str, Any]) -> Response:
        people = contact_search.apply_filters(
            Contact.objects.filter(project=self.project), SearchFilters(**filters)
        )
        in_order = Prefetch("devices", Device.objects.order_by("pk"))
        as_item = ContactSerializer().to_representation
        return pages.page_by_id(self.request, people.prefetch_related(in_order), as_item)


class ContactsBulk(ApiView):
    rows_of = "contacts"
    parser_classes = [ExactParser]

    @extend_schema(request=ContactsSerializer, responses=ContactsTaken, examples=[EXAMPLE])
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Create or update up to 1,000 people and their devices. A device known under another
        person moves to the new one. Invalid rows are rejected, and the others are written."""
        rows, types = self.given(ContactRowsSerializer)["contacts"], types_of(self.project.pk)
        slugs = cache(partial(slugs_of, self.project))
        people, rejected = _read(rows, slugs, types, began=self.began)
        with transaction.atomic():
            upserted = upsert(self.project, people, by=self.actor, now=timezone.now())
            created = len(upserted.created)
            summary: dict[str, Any] = {"created": created, "updated": len(upserted.ids) - created}
            if upserted.ids:  # one entry of them all, not a thousand
                counts = {**summary, "rejected": len({row["index"] for row in rejected})}
                audit.record(self.actor, "wrote", EVERY_PERSON, project=self.project, **counts)
        return Response({**summary, "rejected": rejected})


def _read(
    rows: list[Any], categories: Slugs, types: Mapping[str, str], *, began: datetime
) -> tuple[list[Person], list[dict[str, Any]]]:
    people, rejected = [], []
    for index, row in enumerate(rows):
        try:
            people.append(read_person(row, categories, types, began=began))
        except serializers.ValidationError as error:
            rejected += [{"index": index, **problem} for problem in flattened(error.detail)]
    return people, rejected


class ContactByExternalId(ApiView):
    place, tagged = ("api-contact", "external_id"), True

    parser_classes = [ExactParser]

    @extend_schema(responses=ContactSerializer)
    def get(self, request: Request, external_id: str) -> Response:
        """One person, by external id."""
        return Response(ContactSerializer(self._contact(external_id)).data)

    @extend_schema(
        request=PersonSerializer, responses={200: ContactSerializer, 201: ContactSerializer}
    )
    @patient
    def put(self, request: Request, external_id: str) -> Response:
        """Create or replace a person. If you send `devices`, their other devices are retired."""
        if request.stream is None:  # an empty object is a person of whom nothing is known
            raise serializers.ValidationError({"": NO_OBJECT})
        fields = {**NOTHING_KNOWN, **self._body_of(external_id)}
        person = self._read(fields, types_of(self.project.pk))
        with transaction.atomic():
            before = self._locked_rows(external_id).first()
            self._refuse_stale(before)
            now = timezone.now()
            created = replace_one(self.project, person, by=self.actor, now=now).created
            if before is None and not created:  # by somebody else, meanwhile
                self._refuse_stale(self._contact(external_id))
            contact = self._contact(external_id)
            self._record(before, contact)
            content = ContactSerializer(contact).data
        return Response(content, status=201 if created else 200)

    @extend_schema(request=PersonSerializer, responses=ContactSerializer)
    @patient
    def patch(self, request: Request, external_id: str) -> Response:
        """Change the given fields. Fields you leave out keep their value. Attributes are
        merged as JSON Merge Patch (RFC 7396): null removes one. If you send `devices`, their other
        devices are retired."""
        fields = self._body_of(external_id)
        # Only the given values are checked, not those stored before the type was declared.
        refuse_types(types_of(self.project.pk), fields.get("attributes"))
        with transaction.atomic():
            contact = self._lock_contact(external_id)
            if "attributes" in fields:
                fields["attributes"] = merged(contact.attributes, fields["attributes"])
            person, at = self._read(fields, {}), timezone.now()
            if _changes(contact, person):
                replace_one(self.project, person, by=self.actor, now=at)
            else:
                record_answers(self.project, person.answers, source="api", by=self.actor, now=at)
            now = self._contact(external_id)
            self._record(contact, now)
            content = ContactSerializer(now).data
        return Response(content)

    @extend_schema(responses={204: None})
    @patient
    def delete(self, request: Request, external_id: str) -> Response:
        """Erase a person and their devices. Rows of past deliveries stay, without a name."""
        with transaction.atomic():
            contact = self._lock_contact(external_id)
            # By number: the trail of an erasure must not keep what was erased.
            audit.record(self.actor, "erased", contact, project=self.project)
            contact.delete()
        return Response(status=204)

    def _record(self, before: Contact | None, now: Contact) -> None:
        """Records which fields changed, not their values. Devices come and go with an app, and are
        not recorded."""
        old_fields, new_fields = _fields_of(before), _fields_of(now)
        changes: dict[str, list[Any]] = {
            name: [HIDDEN, HIDDEN]
            for name in old_fields
            if _as_written(old_fields[name]) != _as_written(new_fields[name])
        }
        if before is None or changes:
            action = "changed" if before else "created"
            audit.record(self.actor, action, now, project=self.project, changes=changes)

    def _read(self, fields: dict[str, Any], types: Mapping[str, str]) -> Person:
        slugs = partial(slugs_of, self.project)
        return read_person(fields, slugs, types, began=self.began)

    def _body_of(self, external_id: str) -> dict[str, Any]:
        """The body may be what GET returned; its id must then be the one in the address."""
        body = self.request.data
        if not isinstance(body, dict):
            raise serializers.ValidationError({"": NO_OBJECT})
        if body.get("external_id", external_id) != external_id:
            raise serializers.ValidationError(
                {"external_id": "Must be the external id in the address."}
            )
        return {**body, "external_id": external_id}

    def _lock_contact(self, external_id: str) -> Contact:
        """Locked until the transaction ends, and what If-Match expects."""
        contact = _first_or_404(self._locked_rows(external_id))
        self._refuse_stale(contact)
        return contact

    def _refuse_stale(self, contact: Contact | None) -> None:
        tags.refuse_stale(self.request, contact and ContactSerializer(contact).data)

    def _contact(self, external_id: str) -> Contact:
        return _first_or_404(self._rows(external_id))

    def _locked_rows(self, external_id: str) -> QuerySet[Contact]:
        """In the order of registry.py: a person before their devices."""
        return self._rows(external_id).select_for_update(no_key=self.request.method != "DELETE")

    def _rows(self, external_id: str) -> QuerySet[Contact]:
        rows = Contact.objects.filter(project=self.project)
        return rows.none() if "\x00" in external_id else rows.filter(external_id=external_id)


def _fields_of(contact: Contact | None) -> dict[str, Any]:
    """What a program can set on a person; of their choices the answers, not the times."""
    if contact is None:
        return {}
    chosen = {slug: answer["wanted"] for slug, answer in contact.preferences.items()}
    fields = {name: getattr(contact, name) for name in (*TOLD, "subscribed")}
    return {**fields, "preferences": chosen}


def _changes(contact: Contact, person: Person) -> bool:
    """Whether the body changes anything. Devices always may: others may be gone."""
    new_fields = {name: getattr(person, name) for name in TOLD if getattr(person, name) is not None}
    old_fields = {name: getattr(contact, name) for name in new_fields}
    return person.devices is not None or _as_written(new_fields) != _as_written(old_fields)


def _as_written(value: Any) -> bytes:
    """To Python, 1 is 1.0 is True."""
    return exact.dumps(value, orjson.OPT_SORT_KEYS)


def merged(value: Any, change: Any) -> Any:
    """JSON Merge Patch: objects are merged, null removes, everything else is replaced."""
    if not isinstance(change, dict):
        return change
    result = dict(value) if isinstance(value, dict) else {}
    for name, inner in change.items():
        if inner is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), inner)
    return result


def _first_or_404(rows: QuerySet[Contact]) -> Contact:
    contact = rows.first()
    if contact is None:
        raise NotFound(NOBODY)
    return contact
