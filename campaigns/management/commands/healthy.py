"""`manage.py healthy`: checks that a worker, beat or feed works. For Kubernetes, Compose, systemd.

It checks only the process itself. `/readyz` checks the services around it. A restart of the process
would not repair these, so a worker stays healthy if Redis is down or full.
"""

from __future__ import annotations

import socket
import time
import urllib.request
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import redis
from celery import current_app
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from kombu.exceptions import OperationalError

ANSWER_WITHIN = 5.0  # seconds a worker has to answer
SILENT = 60  # seconds; beat writes down each tick, one every 5 s


class Command(BaseCommand):
    help = "Exit code 0 if the process works, 1 if a restart may help, with the reason in words."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        processes = parser.add_subparsers(dest="process", required=True)
        worker = processes.add_parser("worker", help="a worker on this machine")
        worker.add_argument("--node", default="bulk", help="its -n, or what stands before its @")
        feed = processes.add_parser("feed", help="a feed on this machine")
        feed.add_argument("--port", type=int, default=settings.FEED_PORT, help="its --port")
        beat = processes.add_parser("beat", help="a beat that shares this file system")
        beat.add_argument("--schedule", type=Path, default=Path("celerybeat-schedule"),
                          help="the file that its -s names")  # fmt: skip

    def handle(self, *, process: str, **options: Any) -> None:
        checks = {
            "worker": lambda: _worker(options["node"]),
            "feed": lambda: _feed(options["port"]),
            "beat": lambda: _beat(options["schedule"]),
        }
        self.stdout.write(checks[process]())


def _worker(node: str) -> str:
    name = node if "@" in node else f"{node}@{socket.gethostname()}"
    try:
        redis.Redis.from_url(settings.BROKER_URL, socket_timeout=2, socket_connect_timeout=2).ping()
        answers = current_app.control.ping([name], timeout=ANSWER_WITHIN, limit=1)
    except (redis.RedisError, OperationalError) as error:  # the latter is kombu's word for it
        return f"{name} cannot be asked, for Redis is in trouble: {error}"
    if not answers:
        raise CommandError(f"{name} did not answer within {ANSWER_WITHIN:.0f} s.")
    return f"{name} answers."


def _feed(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=ANSWER_WITHIN):
            return f"The feed at port {port} answers."
    except OSError as error:
        raise CommandError(f"The feed at port {port} does not answer: {error}") from error


def _beat(schedule: Path) -> str:
    # The file's name depends on the machine's dbm: one file, or several with suffixes.
    files = schedule.parent.glob(f"{schedule.name}*")
    written = max((file.stat().st_mtime for file in files), default=None)
    if written is None:
        raise CommandError(f"Beat has not ticked yet: there is no {schedule}.")
    silent = time.time() - written
    if silent > SILENT:
        raise CommandError(f"Beat has been silent for {silent:.0f} s, says {schedule}.")
    return f"Beat ticked {max(0.0, silent):.0f} s ago."
