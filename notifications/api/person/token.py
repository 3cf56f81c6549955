"""Where a backend gets an inbox token, if it does not sign them itself."""

from __future__ import annotations

from datetime import timedelta
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base.fields import StrictSerializer
from notifications.api.base.patience import patient
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.view import ApiView
from notifications.api.contacts import ContactByExternalId
from notifications.api.person.view import first_or_404, rows_of
from notifications.gateway import WrongKey
from notifications.keys import inbox_secret, inbox_token
from notifications.keys.inbox_secret import InboxSecret
from notifications.keys.inbox_token import LONGEST, SHORTEST, USUAL
from notifications.staff import audit

ENDING = "inbox-token"
AN_HOUR = OpenApiExample("For an hour", {"expires_in": 3_600}, request_only=True)
MADE = OpenApiExample(
    "A token",
    {"token": "inbox1.0a1b2c3d4e5f.1780219800.YWRh.…", "expires_at": "2026-05-31T09:30:00Z"},
    response_only=True,
)


class InboxTokenAsked(StrictSerializer):
    """How long it is to be good."""

    expires_in = serializers.IntegerField(
        min_value=int(SHORTEST.total_seconds()),
        max_value=int(LONGEST.total_seconds()),
        default=int(USUAL.total_seconds()),
        help_text="Seconds: from a minute to 30 days; a day if left out.",
    )


class InboxTokenMade(serializers.Serializer[Any]):
    """A token of one person, for their own app."""

    token = serializers.CharField()
    expires_at = serializers.DateTimeField()


class InboxToken(ApiView):
    @refuses(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
    @extend_schema(request=InboxTokenAsked, responses=InboxTokenMade, examples=[AN_HOUR, MADE])
    @patient
    def post(self, request: Request, external_id: str) -> Response:
        """Make an inbox token: with it the person's own app registers and logs out their devices,
        reads and sets their preferences and shows their inbox, and nothing else. It is not kept
        here, and a second call makes another."""
        lasting = self.given(InboxTokenAsked)["expires_in"]
        person = first_or_404(rows_of(self.project, external_id))
        expires_at = timezone.now().replace(microsecond=0) + timedelta(seconds=lasting)
        try:
            token = inbox_token.make(self._secret(), person.external_id, expires_at=expires_at)
        except WrongKey as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="wrong-key") from error
        return Response({"token": token, "expires_at": expires_at})

    def _secret(self) -> InboxSecret:
        with transaction.atomic():
            secret, is_new = inbox_secret.first(self.project)
            if is_new:
                audit.record(self.actor, "created", secret, project=self.project)
        return secret


_make, _contact = InboxToken.as_view(), ContactByExternalId.as_view()


@wraps(_make)
def token_or_contact(request: HttpRequest, external_id: str) -> HttpResponseBase:
    """A person's own id may end like this address: what is no POST is about such a person."""
    if request.method == "POST":
        return _make(request, external_id=external_id)
    return _contact(request, external_id=f"{external_id}/{ENDING}")
