"""People and devices as JSON: what the schema says of them, and how they are shown.

How they are read is in reading.py.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from notifications.api.ground.fields import JsonObject
from notifications.people.contact import Contact
from notifications.people.device import Device

MAX_DEVICES = 100


class DeviceSerializer(serializers.Serializer[Device]):
    """One address: a registration token or a Firebase installation ID, never both."""

    may_lack = frozenset({"token", "fid"})

    token = serializers.CharField(required=False)
    fid = serializers.CharField(required=False)
    platform = serializers.ChoiceField(choices=Device.Platform.choices)
    app_version = serializers.CharField(max_length=50, required=False, allow_blank=True)
    registered_at = serializers.DateTimeField(read_only=True)
    last_seen_at = serializers.DateTimeField(read_only=True)
    retired_at = serializers.DateTimeField(read_only=True, allow_null=True)
    retired_reason = serializers.CharField(read_only=True)

    def to_representation(self, device: Device) -> dict[str, Any]:
        return {
            device.kind: device.address,
            "platform": device.platform,
            "app_version": device.app_version,
            "registered_at": device.registered_at,
            "last_seen_at": device.last_seen_at,
            "retired_at": device.retired_at,
            "retired_reason": device.retired_reason,
        }


class RegistrationSerializer(DeviceSerializer):
    """An address together with the person it belongs to."""

    contact = serializers.CharField(max_length=200, help_text="The person's external id.")


class PersonSerializer(serializers.Serializer[Contact]):
    """A person without an id: the address names it."""

    attributes = JsonObject(required=False)
    locale = serializers.CharField(max_length=35, required=False, help_text="E.g. ko or pt-BR.")
    timezone = serializers.CharField(max_length=64, required=False, help_text="An IANA name.")
    devices = serializers.ListField(
        child=DeviceSerializer(), required=False, max_length=MAX_DEVICES
    )


class ContactSerializer(PersonSerializer):
    """A person with the app's own id of them."""

    external_id = serializers.CharField(max_length=200)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    def to_representation(self, contact: Contact) -> dict[str, Any]:
        # A list has read them already; another question would be one for each person.
        devices = sorted(contact.devices.all(), key=lambda device: device.pk)
        return {
            "external_id": contact.external_id,
            "attributes": contact.attributes,
            "locale": contact.locale,
            "timezone": contact.timezone,
            "devices": [DeviceSerializer().to_representation(device) for device in devices],
            "created_at": contact.created_at,
            "updated_at": contact.updated_at,
        }
