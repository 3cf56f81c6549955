"""Seen, read, archived: one item, many, or all up to one; and each of them taken back."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.db.models import Q
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base.fields import CountedList, Nothing, StrictSerializer
from notifications.api.base.patience import patient
from notifications.api.base.problems import refuses
from notifications.api.person.inbox import InboxItemSerializer, find_item, item_json
from notifications.api.person.view import PersonsView
from notifications.inbox import marking
from notifications.inbox.reading import counts_of

AT_ONCE = 1_000
LARGEST = 2**63 - 1
EITHER = "Give either ids or up_to."
ALL = OpenApiExample("All there was", {"up_to": 7041}, request_only=True)


class MarkedSerializer(StrictSerializer):
    """Which items: some, or all up to one."""

    ids = CountedList(
        child=serializers.IntegerField(min_value=1, max_value=LARGEST),
        allow_empty=False,
        max_length=AT_ONCE,
        required=False,
        help_text="Those of others and those that are gone change nothing.",
    )
    up_to = serializers.IntegerField(
        min_value=1,
        max_value=LARGEST,
        required=False,
        help_text="This one and all before it: what arrives meanwhile is left as it is.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError({"ids": EITHER})
        return attrs


class InboxMarked(serializers.Serializer[Any]):
    """How many items changed, and how much is new now."""

    changed = serializers.IntegerField()
    unseen = serializers.IntegerField()
    unread = serializers.IntegerField()


class PersonsMark(PersonsView):
    """Of one item."""

    mark = ""

    @refuses(HTTPStatus.NOT_FOUND)
    @extend_schema(request=Nothing, responses=InboxItemSerializer)
    @patient
    def post(self, request: Request, pk: int) -> Response:
        """Mark one item. One that is read is seen, too."""
        self.given(Nothing)
        return self._change_item(pk, marking.mark)

    @refuses(HTTPStatus.NOT_FOUND)
    @extend_schema(responses={200: InboxItemSerializer})
    @patient
    def delete(self, request: Request, pk: int) -> Response:
        """Take the mark back. What was not seen was not read either."""
        return self._change_item(pk, marking.take_back)

    def _change_item(self, pk: int, change: Any) -> Response:
        with transaction.atomic():
            person = self.person()
            find_item(person, pk)
            change(person, self.mark, marking.these([pk]))
            return Response(item_json(find_item(person, pk)))


class PersonsMarks(PersonsView):
    """Of many."""

    mark = ""

    @refuses(HTTPStatus.NOT_FOUND)
    @extend_schema(request=MarkedSerializer, responses=InboxMarked, examples=[ALL])
    @patient
    def post(self, request: Request) -> Response:
        """Mark up to 1,000 items, or all up to one. Those that are read are seen, too."""
        marked = self.given(MarkedSerializer)
        with transaction.atomic():
            person = self.person()
            changed = marking.mark(person, self.mark, _items_filter(marked))
            counts = counts_of(person)
        return Response({"changed": changed, **counts._asdict()})


def of_many(mark: str) -> type[PersonsMarks]:
    """A class of its own, so that the schema has a name of its own for it."""
    door = type(f"Persons{mark.title()}", (PersonsMarks,), {"mark": mark})
    named = extend_schema(operation_id=f"me_inbox_many_{mark}")
    return extend_schema_view(post=named)(door)


def _items_filter(marked: dict[str, Any]) -> Q:
    return marking.these(marked["ids"]) if "ids" in marked else marking.up_to(marked["up_to"])
