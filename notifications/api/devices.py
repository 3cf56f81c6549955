"""Devices: an app registers its address for the person who logged in."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient
from notifications.api.base.view import ApiView
from notifications.api.reading import read_registration
from notifications.api.shapes import DeviceSerializer, RegistrationSerializer
from notifications.people.device import unregister
from notifications.people.registry import register_one

NOBODY = "There is no such person in this project; write them first."
ANSWERED = {
    "contact": "ada",
    "token": "live-ada-2",
    "platform": "ios",
    "app_version": "5.2",
    "registered_at": "2026-05-31T09:30:00Z",
    "registered_from": "app",
    "last_seen_at": "2026-05-31T09:30:00Z",
    "retired_at": None,
    "retired_reason": "",
}
STARTED = {"contact": "ada", "token": "live-ada-2", "platform": "ios", "app_version": "5.2"}
EXAMPLES = [
    OpenApiExample("At each start of the app", STARTED, request_only=True),
    OpenApiExample("Registered", ANSWERED, response_only=True),
]


class Devices(ApiView):
    """The address of a device: a token or a Firebase installation ID."""

    @extend_schema(
        request=RegistrationSerializer, responses=RegistrationSerializer, examples=EXAMPLES
    )
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Register a device for a person. If another person had it, it moves to this one."""
        external_id, address = read_registration(request.data)
        device = register_one(self.project, external_id, address, now=timezone.now())
        if device is None:
            raise serializers.ValidationError({"contact": NOBODY})
        content = DeviceSerializer().to_representation(device)
        return Response({"contact": external_id, **content})


class DeviceByAddress(ApiView):
    @extend_schema(responses={204: None})
    @patient
    def delete(self, request: Request, address: str) -> Response:
        """Retire a device: nothing is sent to it until the app registers it again."""
        if not unregister(self.project, address, now=timezone.now()):
            raise NotFound("There is no such device in this project.")
        return Response(status=204)
