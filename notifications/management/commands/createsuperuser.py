"""`manage.py createsuperuser`: Django's, which would take any password from a script, or after “y”."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db.models.signals import pre_save


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """However it asks for the password, it is looked at where the row is written."""
        pre_save.connect(_insist_on_a_good_one, sender=User)
        try:
            super().handle(*args, **options)
        finally:
            pre_save.disconnect(_insist_on_a_good_one, sender=User)


def _insist_on_a_good_one(instance: Any, **_: Any) -> None:
    password = instance._password  # Django's: what was set, until it is saved
    if password is None:
        return
    try:
        validate_password(password, instance)
    except ValidationError as error:
        raise CommandError(f"This password is not taken. {' '.join(error.messages)}") from None
