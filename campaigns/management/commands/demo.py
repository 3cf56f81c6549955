"""`manage.py demo`: a project `demo` with believable people, and a campaign ready to launch."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from campaigns.demo import content, people
from notifications.credentials import ServiceAccount
from notifications.project import Project


class Command(BaseCommand):
    help = "Make N synthetic contacts with devices, and campaigns to try, in the project “demo”."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--contacts", type=int, default=20_000, help="people to make")
        parser.add_argument(
            "--if-empty", action="store_true", help="do nothing when any project exists"
        )

    def handle(self, *, contacts: int, if_empty: bool, **_: Any) -> None:
        if not 1 <= contacts <= 5_000_000:
            raise CommandError("--contacts must be between 1 and 5,000,000.")
        make_first_user(self.stdout.write)
        if if_empty and Project.objects.exists():
            return
        with transaction.atomic():
            project = demo_project()
            devices = people.make(project, contacts)
            content.make(project)
        self.stdout.write(
            f"Project “{project.name}”: {contacts:,} people with {devices:,} devices added."
        )


def make_first_user(say: Any) -> None:
    """Without anybody, nobody could log in. The password comes from the launcher."""
    users = get_user_model().objects
    password = os.environ.get("ADMIN_PASSWORD")
    if password and not users.exists():
        users.create_superuser("admin", "admin@example.com", password)
        say("User “admin” created.")


def demo_project() -> Project:
    project, _ = Project.objects.get_or_create(
        slug="demo",
        defaults={
            "name": "Demo",
            "firebase_project_id": "carillon-demo",
            "ramp_seconds": 0,  # a demo should not begin with a minute of patience
            "timezone": "Asia/Seoul",
        },
    )
    key_file = os.environ.get("FCM_SERVICE_ACCOUNT_FILE")
    if key_file and Path(key_file).is_file() and not hasattr(project, "service_account"):
        ServiceAccount.store(project, json.loads(Path(key_file).read_text()))
    return project
