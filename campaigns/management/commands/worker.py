"""`manage.py worker`: starts a Celery worker for one queue on this machine, beside others."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

QUEUES = ("bulk", "urgent", "control", "outgoing")
FLAGS = ("--without-gossip", "--without-mingle", "-E", "-l", "INFO")


class Command(BaseCommand):
    help = (
        "Work on a queue until SIGTERM; then finish what it holds, and stop. Another machine "
        "needs the DATABASE_URL, REDIS_URL, SECRET_KEY and CREDENTIALS_KEY of the first."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queue", nargs="?", default="bulk", choices=QUEUES)
        parser.add_argument(
            "--processes", type=int, help="how many processes; two per core on bulk, else one"
        )

    def handle(self, *, queue: str, processes: int | None, **_: Any) -> None:
        usual = 2 * (os.cpu_count() or 1) if queue == "bulk" else 1
        count = usual if processes is None else processes
        if count < 1:
            raise CommandError("--processes must be at least 1.")
        work = ("worker", "-n", f"{queue}@%h", "-Q", queue, "-c", str(count), *FLAGS)
        # In this process, so that signals from the parent process reach the worker itself.
        os.execv(sys.executable, (sys.executable, "-m", "celery", "-A", "config", *work))
