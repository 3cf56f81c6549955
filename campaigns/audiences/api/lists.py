"""Static lists: created empty; people are then added and removed, some at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError as Invalid
from django.core.validators import RegexValidator
from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.audiences import membership
from campaigns.audiences.audience import Audience
from campaigns.audiences.membership import Change
from notifications.api import reading
from notifications.api.base import pages
from notifications.api.base.fields import CountedList, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient
from notifications.api.base.query import takes
from notifications.api.base.row import RowView
from notifications.api.base.view import ApiView, save
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.staff import audit
from notifications.values.flaws import Flawed

MEMBERS_AT_ONCE = 1_000
CALLED = "audience or static list"  # they share their names
COUNTING_SECONDS = 1.0
NOBODY = "There is no such person in this project; write them first."
BETA = OpenApiExample("Beta testers", {"name": "Beta testers"}, request_only=True)
MADE = OpenApiExample(
    "An empty list",
    {
        "id": 6,
        "name": "Beta testers",
        "created_at": "2026-05-31T09:30:00Z",
        "updated_at": "2026-05-31T09:30:00Z",
    },
    response_only=True,
)
TWO = OpenApiExample("Two people", {"contacts": ["ada", "nobody"]}, request_only=True)
ONE_IS_NOBODY = {"index": 1, "field": "contacts[1]", "message": NOBODY}
PUT_ON = OpenApiExample(
    "One of two was put on it",
    {"added": 1, "removed": 0, "already": 0, "rejected": [ONE_IS_NOBODY]},
    response_only=True,
)
TAKEN_OFF = OpenApiExample(
    "One of two was taken off it",
    {"added": 0, "removed": 1, "already": 0, "rejected": [ONE_IS_NOBODY]},
    response_only=True,
)
NO_CONTROL = "Holds a line break or another control character; remove it."
PLAIN_NAME = RegexValidator(r"^[^\x00-\x1f\x7f]*$", NO_CONTROL)


class ListSerializer(StrictSerializer):
    """A static list. In rules: {"field": "list", "op": "eq", "value": its id}."""

    may_lack = frozenset({"people"})

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(
        max_length=100,
        validators=[PLAIN_NAME],
    )
    people = serializers.IntegerField(
        read_only=True,
        allow_null=True,
        help_text="Only in the answer for one list. null: counting takes too long.",
    )
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    def to_representation(self, audience: Audience) -> dict[str, Any]:
        return {
            "id": audience.pk,
            "name": audience.name,
            "created_at": audience.created_at,
            "updated_at": audience.updated_at,
        }


class NamedSerializer(StrictSerializer):
    # Each id is checked by itself later: an unknown id is rejected, not the whole call.
    contacts = CountedList(max_length=MEMBERS_AT_ONCE)


class MembersSerializer(StrictSerializer):
    """People to add to a list, or to remove from it."""

    contacts = CountedList(
        child=serializers.CharField(max_length=200),
        max_length=MEMBERS_AT_ONCE,
        help_text="External ids.",
    )


class RefusedMember(serializers.Serializer[Any]):
    """An id that belongs to nobody."""

    index = serializers.IntegerField()
    field = serializers.CharField()
    message = serializers.CharField()


class MembersChanged(serializers.Serializer[Any]):
    """How many people were added or removed, and which ids were rejected."""

    added = serializers.IntegerField()
    removed = serializers.IntegerField()
    already = serializers.IntegerField(
        help_text="How many needed no change: already on the list, or not on it."
    )
    rejected = RefusedMember(many=True)


class Lists(ApiView):
    place = ("api-list", "id")

    @takes(*pages.PARAMETERS)
    @extend_schema(operation_id="lists_list", responses=pages.schema_of(ListSerializer))
    def get(self, request: Request) -> Response:
        """Every static list, newest first."""
        return pages.page_by_id(request, lists_of(self), ListSerializer().to_representation)

    @extend_schema(request=ListSerializer, responses={201: ListSerializer}, examples=[BETA, MADE])
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Create an empty list."""
        name = self.given(ListSerializer)["name"]
        audience = Audience(project=self.project, kind=Audience.Kind.LIST, name=name)
        save(audience, called=CALLED)
        return Response(ListSerializer(audience).data, status=HTTPStatus.CREATED)


class ListById(RowView[Audience]):
    model, serializer_class = Audience, ListSerializer
    words = {
        "get": "One list and how many people are on it. The people themselves are not listed.",
        "delete": "Delete a list that nothing uses. The people on it stay.",
    }

    def find(self, model: Any, pk: int, *, locked: bool = False) -> Any:
        return _find_list(self, pk, locked=locked)

    def to_json(self, row: Audience) -> Any:
        return {**super().to_json(row), "people": _people(row)}


class ListMembers(ApiView):
    deletes_named, rows_of = True, "contacts"

    @extend_schema(request=MembersSerializer, responses=MembersChanged, examples=[TWO, PUT_ON])
    @patient
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Add up to 1,000 people. Unknown ids are rejected, and the others are added."""
        return self._change_members(pk, membership.put_on)

    @extend_schema(
        request=MembersSerializer, responses={200: MembersChanged}, examples=[TWO, TAKEN_OFF]
    )
    @patient
    def delete(self, request: Request, pk: int) -> Response:
        """Remove up to 1,000 people. Unknown ids are rejected, and the others are removed."""
        return self._change_members(pk, membership.take_off)

    def _change_members(self, pk: int, change: Callable[[Audience, set[int]], Change]) -> Response:
        external_ids = self.given(NamedSerializer)["contacts"]
        with transaction.atomic():
            audience = _find_list(self, pk, locked=True)
            people, rejected = self._find_known(external_ids)
            change_made = change(audience, people)
            counts = {"added": change_made.added, "removed": change_made.removed}
            if any(counts.values()):
                audience.save(update_fields=["updated_at"])  # its people are a part of it
                details: dict[str, Any] = counts
                audit.record(
                    self.actor, "changed members", audience, project=self.project, **details
                )
        already = len(people) - change_made.added - change_made.removed
        return Response({**counts, "already": already, "rejected": rejected})

    def _find_known(self, values: list[Any]) -> tuple[set[int], list[dict[str, Any]]]:
        """The ids of the known people, and the rejected ones."""
        parsed = [_read(value) for value in values]
        ids = [external_id for external_id, _ in parsed if external_id]
        contacts = Contact.objects.filter(project=self.project, external_id__in=ids)
        ids_by_name = dict(contacts.values_list("external_id", "pk"))
        rejected = [
            {"index": index, "field": f"contacts[{index}]", "message": problem or NOBODY}
            for index, (external_id, problem) in enumerate(parsed)
            if external_id not in ids_by_name
        ]
        return set(ids_by_name.values()), rejected


def lists_of(view: ApiView) -> QuerySet[Audience]:
    return Audience.objects.filter(project=view.project, kind=Audience.Kind.LIST)


def _find_list(view: ApiView, pk: int, *, locked: bool) -> Audience:
    none = f"There is no static list {pk} in this project"
    try:
        audience = ApiView.find(view, Audience, pk, locked=locked)
    except NotFound as error:
        raise NotFound(f"{none}.") from error
    if audience.kind != Audience.Kind.LIST:
        raise NotFound(f"{none}: that is the id of an audience with rules, see audiences/{pk}.")
    return audience


def _people(audience: Audience) -> int | None:
    with suppress(TooSlow), statement_timeout(seconds=COUNTING_SECONDS):
        return audience.members.count()
    return None


def _read(value: Any) -> tuple[str, str]:
    """An external id, or what is wrong with it."""
    if isinstance(value, Flawed):
        return "", next(iter(value.values()))
    try:
        return reading.external_id(value), ""
    except Invalid as error:
        return "", error.messages[0]
