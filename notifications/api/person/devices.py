"""A person's devices, by their own app."""

from __future__ import annotations

from datetime import datetime, timedelta
from http import HTTPStatus

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base.patience import patient
from notifications.api.base.problems import Problem, refuses
from notifications.api.person.view import NOBODY, PersonsView
from notifications.api.reading import read_device
from notifications.api.shapes import MAX_DEVICES, DeviceSerializer
from notifications.people.contact import Contact
from notifications.people.device import Device, unregister
from notifications.people.registry import Address, register_one

COUNTED = timedelta(days=30)
TOO_MANY = (
    f"This person has {MAX_DEVICES} devices, or registered that many in the last 30 days. Your "
    "backend can retire some with PUT contacts/… or DELETE devices/…."
)
STARTED = {"token": "live-ada-2", "platform": "web", "app_version": "5.2"}
EXAMPLE = OpenApiExample("At each start of the app", STARTED, request_only=True)


class PersonsDevices(PersonsView):
    @refuses(HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
    @extend_schema(request=DeviceSerializer, responses=DeviceSerializer, examples=[EXAMPLE])
    @patient
    def post(self, request: Request) -> Response:
        """Register the device this app runs on, at each start. If another person had it, it moves
        to this one: whoever knows a device's whole address has the device in hand."""
        address, now = read_device(request.data), timezone.now()
        with transaction.atomic():
            person = self.person(held=True)
            _refuse_too_many(person, address, now)
            device = register_one(self.project, person.external_id, address, now=now)
        if device is None:
            raise NotFound(NOBODY)
        return Response(DeviceSerializer().to_representation(device))


class PersonsDevice(PersonsView):
    @extend_schema(responses={204: None})
    @patient
    def delete(self, request: Request, address: str) -> Response:
        """Log this device out: nothing is sent to it until the app registers it again. A device of
        somebody else is not touched."""
        if not unregister(self.project, address, now=timezone.now(), of=self.person()):
            raise NotFound("This person has no such device.")
        return Response(status=204)


def _refuse_too_many(person: Contact, address: Address, now: datetime) -> None:
    """A stolen token shall not fill the table, nor a run with addresses that are none. Whoever asks
    holds the person."""
    devices = Device.objects.filter(contact=person).exclude(
        kind=address.kind, address=address.address
    )
    counted = devices.filter(Q(retired_at=None) | Q(registered_at__gt=now - COUNTED))
    if counted.count() >= MAX_DEVICES:
        raise Problem(HTTPStatus.CONFLICT, TOO_MANY, kind="too-many-devices")
