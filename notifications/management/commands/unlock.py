"""`manage.py unlock`: whoever was locked out for guessing may try again at once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from notifications.staff.login_throttle import Guesses


class Command(BaseCommand):
    help = "Forget all wrong passwords and codes: every lock ends."

    def handle(self, **_: Any) -> None:
        Guesses.objects.all().delete()
        self.stdout.write("Nobody is locked out any more.")
