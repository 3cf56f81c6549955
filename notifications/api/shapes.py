"""People and devices as JSON: what the schema says of them, and how they are shown.

How they are read is in reading.py.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from notifications.api.base.fields import JsonObject
from notifications.people.consent.category import MOST
from notifications.people.contact import Contact
from notifications.people.device import MAX_ADDRESS, Device

MAX_DEVICES = 100
SAID = {
    "type": "object",
    "properties": {
        "wanted": {"type": "boolean"},
        "at": {"type": "string", "format": "date-time"},
        "from": {"type": "string", "readOnly": True},
    },
    "required": ["wanted"],
}


@extend_schema_field(
    {
        "type": "object",
        "maxProperties": MOST,
        "additionalProperties": {"oneOf": [{"type": "boolean"}, SAID]},
    }
)
class PreferencesField(JsonObject):
    """A person's choices, by category."""


class DeviceSerializer(serializers.Serializer[Device]):
    """One address: a registration token or a Firebase installation ID, never both."""

    may_lack = frozenset({"token", "fid"})

    token = serializers.CharField(required=False, max_length=MAX_ADDRESS)
    fid = serializers.CharField(required=False, max_length=MAX_ADDRESS)
    platform = serializers.ChoiceField(choices=Device.Platform.choices)
    app_version = serializers.CharField(max_length=50, required=False, allow_blank=True)
    registered_at = serializers.DateTimeField(read_only=True)
    registered_from = serializers.CharField(
        read_only=True,
        help_text="Whose word it receives by: app (POST devices), api (with a contact), import or "
        "page; empty: registered before this was kept.",
    )
    last_seen_at = serializers.DateTimeField(
        required=False,
        help_text="When the phone was seen. Left out: just now if it is new, else it stays. An "
        "older time than what is known changes nothing. To POST devices it is always now.",
    )
    retired_at = serializers.DateTimeField(read_only=True, allow_null=True)
    retired_reason = serializers.CharField(read_only=True)

    def to_representation(self, device: Device) -> dict[str, Any]:
        return {
            device.kind: device.address,
            "platform": device.platform,
            "app_version": device.app_version,
            "registered_at": device.registered_at,
            "registered_from": device.registered_from,
            "last_seen_at": device.last_seen_at,
            "retired_at": device.retired_at,
            "retired_reason": device.retired_reason,
        }


class RegistrationSerializer(DeviceSerializer):
    """A device and the person it belongs to."""

    contact = serializers.CharField(max_length=200, help_text="The person's external id.")


class PersonSerializer(serializers.Serializer[Contact]):
    """A person; the external id is in the address."""

    attributes = JsonObject(required=False)
    locale = serializers.CharField(
        max_length=35, required=False, allow_blank=True, help_text="E.g. ko or pt-BR."
    )
    timezone = serializers.CharField(
        max_length=64, required=False, allow_blank=True, help_text="An IANA name."
    )
    tester = serializers.BooleanField(
        required=False,
        help_text="True: test sends to the project's testers go to them. Unchanged if left out, in "
        "a PUT too.",
    )
    devices = serializers.ListField(
        child=DeviceSerializer(), required=False, max_length=MAX_DEVICES
    )
    subscribed = serializers.BooleanField(
        required=False,
        help_text="False: they want no marketing. Unchanged if left out, in a PUT too.",
    )
    subscribed_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="When they said so; left out or null: now. An answer older than the one that is "
        "stored changes nothing. GET shows null if they never answered.",
    )
    subscribed_from = serializers.CharField(
        read_only=True, help_text="api, import, page or app; empty: they never answered."
    )
    preferences = PreferencesField(
        required=False,
        help_text="By category slug: true, false, or an object with the time they said so. "
        "Categories you leave out keep their value.",
    )


class ContactSerializer(PersonSerializer):
    """A person with their external id."""

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
            "tester": contact.tester,
            "devices": [DeviceSerializer().to_representation(device) for device in devices],
            "subscribed": contact.subscribed,
            "subscribed_at": contact.subscribed_at,
            "subscribed_from": contact.subscribed_from,
            "preferences": contact.preferences,
            "created_at": contact.created_at,
            "updated_at": contact.updated_at,
        }
