"""Where receipts are sent, as the schema has it. They are taken by the process “feed”."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.engagement.receipt import BY_NAME
from campaigns.engagement.receipt_reading import AT_ONCE, EVENTS
from notifications.api.base.fields import CountedList, StrictSerializer
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.view import ApiView

LINKS_ELSEWHERE = (
    "Links that are counted are opened by the process “feed”. Have the proxy pass /o/ to it.\n"
)
ELSEWHERE = (
    "Receipts are taken by the process “feed”. Have the proxy pass this address to it, or call it "
    "at its own port."
)
# It takes whatever type a page may send, asks for no key, and a receipt sent twice counts once.
NEVER = {
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.LENGTH_REQUIRED,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}


class ReceiptSerializer(StrictSerializer):
    """What became of one message on one phone."""

    id = serializers.CharField(help_text="`carillon_receipt` of the message, as it came.")
    event = serializers.ChoiceField(list(BY_NAME), help_text=EVENTS)
    at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="By the phone's clock. Only goals go by it; what is no time is left out.",
    )


class ReceiptsSerializer(StrictSerializer):
    """What became of messages."""

    receipts = CountedList(child=ReceiptSerializer(), min_length=1, max_length=AT_ONCE)


class RejectedReceipt(serializers.Serializer[Any]):
    """A receipt that was not taken, and why. Sent again, it is rejected again."""

    index = serializers.IntegerField()
    field = serializers.CharField()
    message = serializers.CharField()


class ReceiptsTaken(serializers.Serializer[Any]):
    """How many receipts were taken, now or before, and which were rejected."""

    accepted = serializers.IntegerField()
    rejected = RejectedReceipt(many=True)


class Receipts(ApiView):
    authentication_classes = []
    never_refused: ClassVar[set[HTTPStatus]] = NEVER

    @refuses(HTTPStatus.MISDIRECTED_REQUEST)
    @extend_schema(request=ReceiptsSerializer, responses=ReceiptsTaken)
    def post(self, request: Request) -> Response:
        """Say what became of messages: an app calls this from its phone, without a key. Each event
        of a message counts once, however often it is told. The process `feed` answers."""
        raise Problem(HTTPStatus.MISDIRECTED_REQUEST, ELSEWHERE, kind="elsewhere")


def links_elsewhere(request: HttpRequest) -> HttpResponse:
    """Whoever is led here by a message should reach the feed."""
    status = HTTPStatus.MISDIRECTED_REQUEST
    return HttpResponse(LINKS_ELSEWHERE, status=status, content_type="text/plain; charset=utf-8")
