"""Contact: a person as the app knows them."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Upper
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.people.locking import hold
from notifications.people.project import OfProject
from notifications.values.exact import Decoder, Encoder, Exact
from notifications.values.languages import validate_locale
from notifications.values.text import unstorable
from notifications.values.zones import validate_zone

MAX_ATTRIBUTES = 100
MAX_TEXT = 2_000
MAX_DEPTH = 3
MAX_DIGITS = 1_000  # written out

validate_attribute_name = RegexValidator(
    r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z",
    _("A name starts with a letter and holds letters, digits and _ only, 64 at most."),
)


def validate_attributes(attributes: Any) -> None:
    """Refuse what a template or a rule could choke on; name the attribute that is at fault."""
    if not isinstance(attributes, dict):
        raise ValidationError(gettext('attributes must be an object, e.g. {"plan": "pro"}.'))
    if len(attributes) > MAX_ATTRIBUTES:
        said = gettext("At most %(most)s attributes; there are %(count)s.")
        raise ValidationError(said % {"most": MAX_ATTRIBUTES, "count": len(attributes)})
    for name, value in attributes.items():
        try:
            validate_attribute_name(name)
            _validate_value(value, depth=1)
        except ValidationError as error:
            raise ValidationError(f"{name[:80]}: {error.messages[0]}") from error


def _validate_value(value: Any, *, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValidationError(gettext("Nested deeper than %(most)s levels.") % {"most": MAX_DEPTH})
    if isinstance(value, str):
        _validate_text(value)
    elif isinstance(value, int | float):
        _validate_number(value)
    elif isinstance(value, list | dict):
        if len(value) > MAX_ATTRIBUTES:
            said = gettext("Holds more than %(most)s values.")
            raise ValidationError(said % {"most": MAX_ATTRIBUTES})
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _validate_value(inner, depth=depth + 1)


def _validate_number(number: float) -> None:
    digits = number.digits() if isinstance(number, Exact) else 0
    if digits > MAX_DIGITS or (isinstance(number, int) and abs(number) >= 10**MAX_DIGITS):
        said = gettext("A number of more than %(most)s digits; send it as a text.")
        raise ValidationError(said % {"most": f"{MAX_DIGITS:,}"})


def _validate_text(text: str) -> None:
    if len(text) > MAX_TEXT:
        said = gettext("Longer than %(most)s characters.")
        raise ValidationError(said % {"most": f"{MAX_TEXT:,}"})
    if problem := unstorable(text):
        raise ValidationError(gettext("It %(problem)s.") % {"problem": problem})


class Contact(OfProject):
    """Who is this person, in the words of the app that sent them?"""

    external_id = models.CharField(max_length=200, help_text=_("The app's own id of this person."))
    attributes = models.JSONField(
        default=dict,
        blank=True,
        validators=[validate_attributes],
        encoder=Encoder,
        decoder=Decoder,
    )
    locale = models.CharField(max_length=35, blank=True, validators=[validate_locale])
    timezone = models.CharField("time zone", max_length=64, blank=True, validators=[validate_zone])
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
            # People are listed newest first, by id: it also serves keyset pages.
            models.Index(fields=["project", "-id"], name="contact_of_project"),
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

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """With their devices. Who was erased meanwhile is no error: nobody is deleted, then."""
        with transaction.atomic():
            Contact.objects.select_for_update().filter(pk=self.pk).first()
            hold(self.devices)
            return super().delete(*args, **kwargs)
