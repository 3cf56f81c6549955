"""People and devices as JSON: what is read, checked, and shown."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError as Invalid
from rest_framework import serializers

from notifications.api.fields import JsonObject, StrictSerializer
from notifications.contact import Contact, validate_attributes, validate_locale
from notifications.device import MAX_ADDRESS, Device, validate_address
from notifications.registry import Address, Person
from notifications.zones import validate_zone


class AddressField(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        # FCM's limit is said by validate_address, in words that tell how long this one is.
        super().__init__(
            required=False, trim_whitespace=False, validators=[validate_address], **options
        )


class DeviceSerializer(StrictSerializer):
    """One address: a registration token or a Firebase installation ID, never both."""

    token = AddressField(help_text=f"At most {MAX_ADDRESS:,} characters.")
    fid = AddressField()
    platform = serializers.ChoiceField(choices=Device.Platform.choices)
    app_version = serializers.CharField(max_length=50, required=False, allow_blank=True)
    registered_at = serializers.DateTimeField(read_only=True)
    last_seen_at = serializers.DateTimeField(read_only=True)
    retired_at = serializers.DateTimeField(read_only=True, allow_null=True)
    retired_reason = serializers.CharField(read_only=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("token" in attrs) == ("fid" in attrs):
            raise serializers.ValidationError("Give either token or fid.")
        return attrs

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


class PersonSerializer(StrictSerializer):
    """A person without an id: what is left out stays as it is."""

    attributes = JsonObject(required=False)
    locale = serializers.CharField(
        max_length=35, required=False, allow_blank=True, validators=[validate_locale]
    )
    timezone = serializers.CharField(
        max_length=64, required=False, allow_blank=True, validators=[validate_zone]
    )
    devices = serializers.ListField(child=DeviceSerializer(), required=False, max_length=100)

    def validate_attributes(self, attributes: dict[str, Any]) -> dict[str, Any]:
        try:
            validate_attributes(attributes)
        except Invalid as error:
            raise serializers.ValidationError(error.messages) from error
        return attributes


class ContactSerializer(PersonSerializer):
    """A person with the app's own id of them."""

    external_id = serializers.CharField(max_length=200, trim_whitespace=False)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    def to_representation(self, contact: Contact) -> dict[str, Any]:
        devices = contact.devices.order_by("pk")
        return {
            "external_id": contact.external_id,
            "attributes": contact.attributes,
            "locale": contact.locale,
            "timezone": contact.timezone,
            "devices": [DeviceSerializer().to_representation(device) for device in devices],
            "created_at": contact.created_at,
            "updated_at": contact.updated_at,
        }


def person_of(given: dict[str, Any], external_id: str) -> Person:
    return Person(
        external_id=external_id,
        attributes=given.get("attributes"),
        locale=given.get("locale"),
        timezone=given.get("timezone"),
        devices=[address_of(device) for device in given.get("devices", [])],
    )


def address_of(given: dict[str, Any]) -> Address:
    kind = "token" if "token" in given else "fid"
    return Address(kind, given[kind], given["platform"], given.get("app_version", ""))
