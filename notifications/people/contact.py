"""Contact: a person as the app knows them."""

from __future__ import annotations

from typing import Any
from unicodedata import category

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Upper
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.people.attributes import (
    check_attribute_name,
    refuse_other_types,
    types_of,
)
from notifications.people.erased_people import forget_people
from notifications.people.locking import lock_devices
from notifications.people.project import OfProject, Project
from notifications.values.exact import Decoder, Encoder, Exact
from notifications.values.languages import validate_locale
from notifications.values.text import unstorable, visible
from notifications.values.zones import validate_zone

MAX_ATTRIBUTES = 100
MAX_TEXT = 2_000
MAX_DEPTH = 3
MAX_DIGITS = 1_000  # of a number that is written out
TOO_LARGE = 10**MAX_DIGITS
SAID = {"subscribed", "subscribed_at", "subscribed_from", "preferences"}


LONGEST_ID = 200


def validate_external_id(external_id: str) -> None:
    """Refuse an id that cannot be part of the person's URL, contacts/<id>."""
    if not external_id:
        raise ValidationError(gettext("Must not be empty."))
    if len(external_id) > LONGEST_ID:
        text = gettext("At most %(most)s characters; there are %(count)s.")
        params = {"most": LONGEST_ID, "count": f"{len(external_id):,}"}
        raise ValidationError(text, params=params)
    if not external_id.isprintable() and any(category(letter) == "Cc" for letter in external_id):
        text = gettext("Holds a control character, such as a line break; remove it.")
        raise ValidationError(text)
    if external_id == "bulk":
        raise ValidationError(gettext("contacts/bulk is an address of its own; use another id."))
    if {".", ".."} & set(external_id.split("/")):
        text = gettext("Neither . nor .. can be a part of an address; use another id.")
        raise ValidationError(text)


def validate_attributes(attributes: Any) -> None:
    """Refuse values that a template or a rule cannot handle. The error names the attribute."""
    if not isinstance(attributes, dict):
        raise ValidationError(gettext('attributes must be an object, e.g. {"plan": "pro"}.'))
    if len(attributes) > MAX_ATTRIBUTES:
        text = gettext("At most %(most)s attributes; there are %(count)s.")
        raise ValidationError(text % {"most": MAX_ATTRIBUTES, "count": len(attributes)})
    for name, value in attributes.items():
        try:
            check_attribute_name(name)
            validate_value(value)
        except ValidationError as error:
            raise ValidationError(f"{visible(name[:80])}: {error.messages[0]}") from error


def validate_value(value: Any, *, depth: int = 1) -> None:
    """Refuse a value that no attribute can have."""
    if depth > MAX_DEPTH:
        text = gettext("Nested deeper than %(most)s levels.")
        raise ValidationError(text, params={"most": MAX_DEPTH})
    if isinstance(value, str):
        _validate_text(value)
    elif isinstance(value, int | float):
        validate_number(value)
    elif isinstance(value, list | dict):
        if len(value) > MAX_ATTRIBUTES:
            text = gettext("Holds more than %(most)s values.")
            raise ValidationError(text, params={"most": MAX_ATTRIBUTES})
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            validate_value(inner, depth=depth + 1)


def validate_number(number: float) -> None:
    """Refuse a number too long to be stored, or to be written out in a text."""
    digits = number.digits() if isinstance(number, Exact) else 0
    if digits > MAX_DIGITS or (isinstance(number, int) and abs(number) >= TOO_LARGE):
        text = gettext("A number of more than %(most)s digits; send it as a text.")
        raise ValidationError(text, params={"most": f"{MAX_DIGITS:,}"})


def _validate_text(text: str) -> None:
    if len(text) > MAX_TEXT:
        message = gettext("Longer than %(most)s characters.")
        raise ValidationError(message, params={"most": f"{MAX_TEXT:,}"})
    if problem := unstorable(text):
        raise ValidationError(gettext("It %(problem)s."), params={"problem": problem})


class Contact(OfProject):
    """A person as the app knows them: its id for them, their attributes, locale and consent."""

    # No index of its own: other indexes begin with it.
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    external_id = models.CharField(
        max_length=LONGEST_ID, help_text=_("The app's own id of this person.")
    )
    attributes = models.JSONField(
        default=dict,
        blank=True,
        validators=[validate_attributes],
        encoder=Encoder,
        decoder=Decoder,
    )
    locale = models.CharField(max_length=35, blank=True, validators=[validate_locale])
    timezone = models.CharField("time zone", max_length=64, blank=True, validators=[validate_zone])
    # The person's consent answers, written by consent/record.py alone. No time: never answered.
    subscribed = models.BooleanField(default=True, db_default=True, editable=False)
    subscribed_at = models.DateTimeField(null=True, editable=False)
    subscribed_from = models.CharField(
        max_length=20, blank=True, default="", db_default="", editable=False
    )
    # {"offers": {"wanted": false, "at": "2026-11-22T20:00:00.000000Z", "from": "api"}}
    preferences = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    tester = models.BooleanField(
        default=False, db_default=False, help_text=_("Test sends to the testers go to them.")
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")
        constraints = [
            models.UniqueConstraint(
                fields=["project", "external_id"], name="one_contact_per_external_id"
            ),
            models.CheckConstraint(condition=~Q(external_id=""), name="a_contact_has_an_id"),
        ]
        indexes = [
            # Lists people newest first, by id, and serves keyset pages. Ascending, so that new rows
            # go to its end.
            models.Index(fields=["project", "id"], name="contacts_of_project"),
            # People who opted out, or answered anything. They are few; the others cost nothing.
            models.Index(
                fields=["project"], condition=Q(subscribed=False), name="contact_unsubscribed"
            ),
            models.Index(
                fields=["project"], condition=~Q(preferences={}), name="contact_with_choices"
            ),
            models.Index(fields=["project"], condition=Q(tester=True), name="contact_testers"),
            GinIndex(
                OpClass(models.F("attributes"), name="jsonb_path_ops"), name="contact_attributes"
            ),
            # The people page searches by the start of an id, whatever its case.
            models.Index(
                "project",
                OpClass(Upper("external_id"), name="text_pattern_ops"),
                name="contact_external_id_prefix",
            ),
        ]

    def __str__(self) -> str:
        return self.external_id

    def clean(self) -> None:
        """Check the declared types on pages. The API and imports read them once for many people."""
        if self.project_id and isinstance(self.attributes, dict):
            try:
                refuse_other_types(types_of(self.project_id), self.attributes)
            except ValidationError as error:
                raise ValidationError({"attributes": error.messages}) from error

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save all but the consent answers: a row read a while ago must not undo an opt-out."""
        if not self._state.adding and kwargs.get("update_fields") is None:
            fields = (each.name for each in self._meta.concrete_fields if not each.primary_key)
            kwargs["update_fields"] = [name for name in fields if name not in SAID]
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Erase the person and their devices. If they are erased already, nothing happens."""
        with transaction.atomic():
            Contact.objects.select_for_update().filter(pk=self.pk).first()
            lock_devices(self.devices)
            forget_people([self.pk])
            return super().delete(*args, **kwargs)
