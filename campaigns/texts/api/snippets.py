"""Snippets: short texts that templates mention, in some languages, and who says them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.planning import snippet_users
from campaigns.texts import revision
from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.snippets.validation import MAX_LETTERS
from notifications.api.base import pages
from notifications.api.base.fields import JsonObject, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.query import takes
from notifications.api.base.row import WritableRowView
from notifications.api.base.view import ApiView, save

EXAMPLE = OpenApiExample(
    "A footer",
    {
        "name": "footer",
        "text": "Shop Ltd. Reply STOP to end.",
        "locales": {"ko": {"text": "(주)샵. 수신 거부는 STOP."}},
    },
    request_only=True,
)


class SnippetLanguageSerializer(serializers.Serializer[Any]):
    """Its text in another language."""

    may_lack = frozenset({"text"})

    text = serializers.CharField(required=False, allow_blank=True)


@extend_schema_field(serializers.DictField(child=SnippetLanguageSerializer()))
class SnippetLanguages(JsonObject):
    """Texts by language."""


class SnippetSerializer(StrictSerializer):
    """A text that templates mention as {{ snippet.name }}."""

    moving = frozenset({"revision", "updated_at"})

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(
        max_length=40, help_text="Small letters, digits and “_”, beginning with a letter."
    )
    text = serializers.CharField(
        max_length=MAX_LETTERS,
        trim_whitespace=False,
        help_text="Words and values such as {{ first_name }}; no conditions, no other snippet.",
    )
    locales = SnippetLanguages(
        required=False, help_text="By language tag; what is left out is the main text."
    )
    revision = serializers.SerializerMethodField(help_text="Which revision that is, from 1.")
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    def get_revision(self, snippet: Snippet) -> int:
        return revision.newest_number(snippet)


class UsersSerializer(serializers.Serializer[Any]):
    """The ids of the newest 100 of each kind."""

    templates = serializers.ListField(child=serializers.IntegerField())
    campaigns = serializers.ListField(
        child=serializers.IntegerField(), help_text="Those that have not ended."
    )
    automations = serializers.ListField(child=serializers.IntegerField())


class Snippets(ApiView):
    place = ("api-snippet", "id")

    @takes(*pages.PARAMETERS)
    @extend_schema(operation_id="snippets_list", responses=pages.schema_of(SnippetSerializer))
    def get(self, request: Request) -> Response:
        """Every snippet, newest first."""
        mine = Snippet.objects.filter(project=self.project)
        return pages.page_by_id(request, mine, SnippetSerializer().to_representation)

    @extend_schema(
        request=SnippetSerializer, responses={201: SnippetSerializer}, examples=[EXAMPLE]
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a snippet."""
        snippet = Snippet(project=self.project, **self.given(SnippetSerializer))
        with transaction.atomic():
            save(snippet)
            revision.keep(snippet, by=self.actor)
        return Response(SnippetSerializer(snippet).data, status=201)


class SnippetById(WritableRowView[Snippet]):
    model, serializer_class = Snippet, SnippetSerializer
    words = {
        "get": "One snippet.",
        "put": "Replace a snippet. Runs already launched keep its former text.",
        "patch": "Change the given fields. `locales` is replaced as a whole.",
        "delete": "Delete a snippet that no template mentions.",
    }
    otherwise = {"locales": {}}

    def write(self, row: Snippet, given: dict[str, Any]) -> None:
        revision.open_for_change(Snippet, row.pk)
        for name, value in given.items():
            setattr(row, name, value)
        save(row)
        revision.keep(row, by=self.actor)


class SnippetUsers(ApiView):
    @extend_schema(responses=UsersSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Which templates mention it, and which campaigns and automations send these."""
        users = snippet_users.find_users(self.find(Snippet, pk))
        ids = {
            "templates": [one.pk for one in users.templates],
            "campaigns": [one.pk for one in users.campaigns],
            "automations": [one.pk for one in users.automations],
        }
        return Response(UsersSerializer(ids).data)
