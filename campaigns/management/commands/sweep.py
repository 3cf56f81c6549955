"""`manage.py sweep`: runs beat's tick by hand, for a machine without beat or a check."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from campaigns import tasks
from notifications.task_queue import NotEnqueued

PAUSE = 5  # seconds, as beat's


class Command(BaseCommand):
    help = "Queue every run that is due, abandoned or unfinished. Safe beside a running beat."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="one tick instead of one every 5 s")

    def handle(self, *, once: bool, **_: Any) -> None:
        if once:
            self._sweep()
            return
        with suppress(KeyboardInterrupt):
            while True:
                try:
                    self._sweep()
                except CommandError as error:
                    self.stderr.write(f"{error} Trying again.")
                time.sleep(PAUSE)

    def _sweep(self) -> None:
        try:
            tasks.sweep()
        except NotEnqueued as error:
            raise CommandError(f"Redis cannot be reached. {error}") from error
