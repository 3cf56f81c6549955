"""Devices: an app registers its address for the person who logged in."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.ground.idempotency import idempotent
from notifications.api.ground.patience import patient
from notifications.api.ground.view import ApiView
from notifications.api.reading import read_registration
from notifications.api.shapes import DeviceSerializer, RegistrationSerializer
from notifications.people.contact import Contact
from notifications.people.device import Device, unregister
from notifications.people.registry import register


class Devices(ApiView):
    """The addresses that can receive."""

    @extend_schema(request=RegistrationSerializer, responses=RegistrationSerializer)
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Register an address. It moves here if somebody else had it, and is active again."""
        external_id, address = read_registration(request.data)
        with transaction.atomic():
            register(self.project, [(self._owner(external_id), address)], now=timezone.now())
            device = Device.objects.get(
                project=self.project, kind=address.kind, address=address.address
            )
        shown = DeviceSerializer().to_representation(device)
        return Response({"contact": external_id, **shown})

    def _owner(self, external_id: str) -> int:
        """Their id; nobody erases them until the transaction ends."""
        known = Contact.objects.filter(project=self.project, external_id=external_id)
        owner = known.select_for_update(no_key=True).values_list("pk", flat=True).first()
        if owner is None:
            raise serializers.ValidationError(
                {"contact": "There is no such person in this project; write them first."}
            )
        return owner


class DeviceByAddress(ApiView):
    @extend_schema(responses={204: None})
    @patient
    def delete(self, request: Request, address: str) -> Response:
        """Send nothing to it any more, until the app registers it again."""
        if not unregister(self.project, address, now=timezone.now()):
            raise NotFound("There is no such device in this project.")
        return Response(status=204)
