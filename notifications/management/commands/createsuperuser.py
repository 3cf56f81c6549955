"""`manage.py createsuperuser`: Django's, which would take any password of a script or after “y”."""

from __future__ import annotations

import os
from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError


def insist(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise CommandError(f"This password is not accepted. {' '.join(error.messages)}") from None


# What it asks a typed password by; a ValidationError it would offer to ignore.
createsuperuser.validate_password = insist  # type: ignore[attr-defined]


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        password = os.environ.get("DJANGO_SUPERUSER_PASSWORD")
        if password and not options["interactive"]:
            insist(password, User(username=options.get("username") or "", email=""))
        super().handle(*args, **options)
