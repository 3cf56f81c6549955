"""A person's inbox, by their own app, and by a backend with its key."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base import pages, query
from notifications.api.base.problems import refuses
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
from notifications.api.person.view import PersonsView
from notifications.api.person_in_query import contact_named
from notifications.inbox.item import InboxItem
from notifications.inbox.reading import Counts, counts_of, items_of
from notifications.people.contact import Contact

CONTENT = ("title", "body", "image", "link", "data")
COLUMNS = ("category", "collapse", "created_at", "expires_at", "seen_at", "read_at", "archived_at")
NO_SUCH = "There is no such item in this person's inbox."
FLAGS: dict[str, tuple[str, Q]] = {
    "unseen": ("Only what they have not seen.", Q(seen_at=None, read_at=None)),
    "unread": ("Only what they have not read.", Q(read_at=None)),
    "archived": ("What they archived, in place of the rest.", ~Q(archived_at=None)),
}
FILTERS = [
    *(OpenApiParameter(name, bool, description=said) for name, (said, _) in FLAGS.items()),
    query.text("category", "Only of the category with this slug."),
    query.text("collapse", "Only what was sent with this `collapse`."),
]
TOGETHER = FILTERS[-1]
OF_WHOM = query.contact(required=True)
LEFT = {
    "id": 7041,
    "title": "On its way",
    "body": "Order A-17 left our house.",
    "image": "",
    "link": "https://shop.example.com/orders/A-17",
    "data": {},
    "has_article": False,
    "category": "orders",
    "collapse": "",
    "created_at": "2026-05-31T09:30:00Z",
    "expires_at": None,
    "seen_at": None,
    "read_at": None,
    "archived_at": None,
}
A_PAGE = OpenApiExample("One item", {"results": [LEFT], "next": None}, response_only=True)


class InboxItemSerializer(serializers.Serializer[Any]):
    """One item of a person's inbox."""

    id = serializers.IntegerField()
    title = serializers.CharField()
    body = serializers.CharField()
    image = serializers.CharField()
    link = serializers.CharField()
    # The metaclass takes declared fields off the class, so Serializer.data is still there.
    data = serializers.DictField(child=serializers.CharField())  # type: ignore[assignment]
    has_article = serializers.BooleanField(help_text="Whether it has a long text of its own.")
    category = serializers.CharField(help_text="Its slug; empty if it has none.")
    collapse = serializers.CharField(help_text="As the message had it; empty if it had none.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    seen_at = serializers.DateTimeField(allow_null=True)
    read_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)


class WholeInboxItem(InboxItemSerializer):
    """One item with its long text."""

    article = serializers.CharField(help_text="As it was given, up to 256 kB; empty if none was.")


class InboxCounts(serializers.Serializer[Any]):
    """How much is new: for a badge."""

    unseen = serializers.IntegerField()
    unread = serializers.IntegerField()


INBOX_PAGE = pages.schema_of(InboxItemSerializer)


class PersonsInbox(PersonsView):
    @refuses(HTTPStatus.NOT_FOUND)
    @takes(*pages.PARAMETERS, *FILTERS)
    @extend_schema(responses=INBOX_PAGE, examples=[A_PAGE], operation_id="me_inbox_list")
    def get(self, request: Request) -> Response:
        """This person's inbox, newest first."""
        return _page(request, self.person())


class PersonsInboxCounts(PersonsView):
    @refuses(HTTPStatus.NOT_FOUND)
    @takes(TOGETHER)
    @extend_schema(responses=InboxCounts)
    def get(self, request: Request) -> Response:
        """How many items this person has not seen, and not read."""
        return _counts_response(request, self.person())


class PersonsInboxItem(PersonsView):
    @refuses(HTTPStatus.NOT_FOUND)
    @extend_schema(responses=WholeInboxItem)
    def get(self, request: Request, pk: int) -> Response:
        """One item with its long text. Reading it here does not mark it as read."""
        return Response(whole(find_item(self.person(), pk)))


class Inbox(ApiView):
    @takes(*pages.PARAMETERS, *FILTERS, OF_WHOM)
    @extend_schema(responses=INBOX_PAGE, operation_id="inbox_list")
    def get(self, request: Request) -> Response:
        """One person's inbox, newest first."""
        return _page(request, contact_named(self, request.query_params.get("contact")))


class InboxCountsOfOne(ApiView):
    @takes(OF_WHOM, TOGETHER)
    @extend_schema(responses=InboxCounts)
    def get(self, request: Request) -> Response:
        """How many items one person has not seen, and not read."""
        contact = contact_named(self, request.query_params.get("contact"))
        return _counts_response(request, contact)


def _counts_response(request: Request, contact: Contact) -> Response:
    collapse = request.query_params.get("collapse", "")
    nothing = Counts(0, 0)  # PostgreSQL knows no text with a NUL in it
    counts = nothing if "\x00" in collapse else counts_of(contact, collapse)
    return Response(counts._asdict())


def find_item(contact: Contact, pk: int) -> InboxItem:
    item = items_of(contact).filter(pk=pk).first()
    if item is None:
        raise NotFound(NO_SUCH)
    return item


def item_json(item: Any) -> dict[str, Any]:
    return {
        "id": item.pk,
        **{name: item.text.content.get(name, {} if name == "data" else "") for name in CONTENT},
        "has_article": item.has_article,
        **{name: getattr(item, name) for name in COLUMNS},
    }


def whole(item: Any) -> dict[str, Any]:
    return {**item_json(item), "article": item.text.article}


def _page(request: Request, contact: Contact) -> Response:
    return pages.page_by_id(request, _filter_items(request, items_of(contact)), item_json)


def _filter_items(request: Request, items: QuerySet[InboxItem]) -> QuerySet[InboxItem]:
    flags = {name: request.query_params.get(name, "false") for name in FLAGS}
    wrong = {name: "Use true or false." for name in FLAGS if flags[name] not in ("true", "false")}
    if wrong:
        raise serializers.ValidationError(wrong)
    if flags["archived"] == "false":
        items = items.filter(archived_at=None)
    for name, (_, only) in FLAGS.items():
        if flags[name] == "true":
            items = items.filter(only)
    for name in ("category", "collapse"):
        if word := request.query_params.get(name):
            items = items.none() if "\x00" in word else items.filter(**{name: word})
    return items
