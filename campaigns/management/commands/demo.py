"""`manage.py demo`: a project `demo` with believable people, and a campaign ready to launch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from campaigns.demo import content, people
from campaigns.figures import store_figures
from notifications.keys import credentials
from notifications.people.project import Project
from notifications.postgres import clock

KEY_FILE = "FCM_SERVICE_ACCOUNT_FILE"


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
        store_figures.keep_figures(
            now=clock.now()
        )  # so that the overview need not wait for beat's tick
        self.stdout.write(
            f"Project “{project.name}”: {contacts:,} people with {devices:,} devices added."
        )
        if credentials.lacking(project):
            self.stdout.write(
                f"It has no key yet, so nothing can be sent. Give it one that {project.endpoint} "
                "knows: manage.py set_firebase_credentials --project demo FILE"
            )


def make_first_user(say: Any) -> None:
    """Create the user “admin” if there is no user yet. The launcher sets the password."""
    users = get_user_model().objects
    password = os.environ.get("ADMIN_PASSWORD")
    if password and not users.exists():
        try:
            validate_password(password, get_user_model()(username="admin"))
        except ValidationError as error:
            raise CommandError(f"ADMIN_PASSWORD: {' '.join(error.messages)}") from None
        users.create_superuser("admin", "admin@example.com", password)
        say("User “admin” created.")


def demo_project() -> Project:
    """Get or create the demo project. It gets the FCM emulator's key and project id, if given."""
    key = key_of_the_stand_in()
    project, _ = Project.objects.get_or_create(
        slug="demo",
        defaults={
            "name": "Demo",
            "firebase_project_id": key.get("project_id", "carillon-demo"),
            "ramp_seconds": 0,  # a demo should send at full speed at once
            "timezone": "Asia/Seoul",
            "asks_receipts": True,
        },
    )
    if key and not hasattr(project, "service_account"):
        try:
            credentials.use(project, key)
        except ValidationError as error:
            raise CommandError(f"{KEY_FILE}: {' '.join(error.messages)}") from None
    return project


def key_of_the_stand_in() -> dict[str, Any]:
    file = Path(os.environ.get(KEY_FILE, ""))
    if not file.is_file():
        return {}
    try:
        return credentials.parse(file.read_bytes())
    except ValidationError as error:
        raise CommandError(f"{KEY_FILE}: {' '.join(error.messages)}") from None
