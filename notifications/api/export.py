"""Everything known about one person, for a request to see one's data."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from notifications.api.base import query
from notifications.api.base.patience import refusing_when_busy
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
from notifications.api.person_in_query import contact_named
from notifications.people.person_export import everything
from notifications.postgres.budget import SlowQueryStream
from notifications.staff import audit

EXAMPLE = OpenApiExample(
    "Ada",
    {
        "contact": {
            "external_id": "ada",
            "project": "shop",
            "attributes": {"plan": "gold"},
            "locale": "en",
            "timezone": "Asia/Seoul",
            "tester": False,
            "created_at": "2026-05-31T09:30:00Z",
            "updated_at": "2026-05-31T09:30:00Z",
        },
        "devices": [],
        "consent": {
            "subscribed": True,
            "subscribed_at": None,
            "subscribed_from": "",
            "preferences": {},
            "suppressed_at": None,
            "history": [],
        },
        "lists": [{"id": 6, "name": "Beta testers"}],
        "inbox": [],
        "events": [],
        "deliveries": [],
        "answers": [],
        "had": [],
        "messages": [],
        "automations": [],
        "receipts": [],
        "opens": ["2026-11-26T19"],
        "goals": [],
        "reports": [],
        "tests": [],
    },
    response_only=True,
)


class ExportSerializer(serializers.Serializer[Any]):
    """The sections every export has. Other sections may follow."""

    contact = serializers.DictField()
    devices = serializers.ListField(child=serializers.DictField())


class Export(ApiView):
    @takes(query.contact(required=True))
    @extend_schema(responses=ExportSerializer, examples=[EXAMPLE])
    def get(self, request: Request) -> HttpResponseBase:
        """Everything stored about one person, in sections: contact, devices, consent, lists,
        inbox, events, deliveries and others. It is streamed: a body that ends early is
        incomplete."""
        contact = contact_named(self, request.query_params.get("contact"))
        with refusing_when_busy():
            stream = SlowQueryStream(self.project.pk, everything(contact))
        # By number, without the content: the audit trail outlives an erased person.
        audit.record(self.actor, "exported", contact, project=self.project)
        return StreamingHttpResponse(stream, content_type="application/json")
