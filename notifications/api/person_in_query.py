"""The person a query names, as an app calls them: their ids may hold slashes."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError as Invalid
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from notifications.api.base import query
from notifications.api.base.view import ApiView
from notifications.api.reading import external_id
from notifications.people.contact import Contact


@extend_schema_field(query.shape(query.NO_CONTROL))
class ExternalId(serializers.CharField):
    """In a body: judged as everywhere."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return external_id(data)
        except Invalid as error:
            raise serializers.ValidationError(error.messages) from error


def contact_named(view: ApiView, name: str | None) -> Contact:
    """Raises ValidationError, of the field `contact`."""
    if not name:
        raise serializers.ValidationError(
            {"contact": "Name the person: ?contact= and their external id."}
        )
    known = Contact.objects.filter(project=view.project, external_id=name)
    contact = None if "\x00" in name else known.first()
    if contact is None:
        raise nobody()
    return contact


def nobody() -> serializers.ValidationError:
    return serializers.ValidationError({"contact": "There is no such person in this project."})
