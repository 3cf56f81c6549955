"""Event names: any short line that a person can type and read."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

LONGEST_NAME = 64


def validate_event_name(name: str) -> None:
    """Raises ValidationError if an event cannot have this name."""
    if not 1 <= len(name) <= LONGEST_NAME:
        text = gettext("A name has 1 to %(most)s characters; there are %(count)s.")
        raise ValidationError(text % {"most": LONGEST_NAME, "count": f"{len(name):,}"})
    if name != name.strip():
        raise ValidationError(gettext("Remove the spaces around the name."))
    if not name.isprintable():
        text = gettext("A name is one line without invisible characters, such as Order Completed.")
        raise ValidationError(text)
