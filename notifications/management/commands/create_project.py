"""`manage.py create_project`: where people, keys and runs belong, made without a browser."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from notifications.management.projects import refuse_if_there
from notifications.people.project import Project
from notifications.staff import audit

OPTIONS = {
    "firebase_project_id": "--firebase-project",
    "name": "--name",
    "timezone": "--timezone",
    "quota_per_minute": "--quota",
    "slug": "SLUG",
}


class Command(BaseCommand):
    help = "Create a project. It can send once it has a key: see set_firebase_credentials."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="its short name for commands and the API, e.g. shop")
        parser.add_argument(
            "--firebase-project",
            required=True,
            metavar="ID",
            help="as the Firebase console shows it",
        )
        parser.add_argument("--name", help="as the pages show it; without it, the SLUG")
        parser.add_argument("--timezone", help="an IANA name such as Asia/Seoul; UTC")
        parser.add_argument(
            "--quota", type=int, metavar="N", help="FCM's quota of messages a minute; 600000"
        )

    def handle(self, slug: str, *, firebase_project: str, **options: Any) -> None:
        values = {"timezone": options["timezone"], "quota_per_minute": options["quota"]}
        project = Project(
            slug=slug,
            name=slug if options["name"] is None else options["name"],
            firebase_project_id=firebase_project,
            **{name: value for name, value in values.items() if value is not None},
        )
        with transaction.atomic():
            refuse_if_there(slug)
            _check(project)
            project.save()
            audit.record("carillon", "created", project, project=project)
        self.stdout.write(
            f"Project “{project.name}” is there. Next, give it a key and a program access:\n"
            f"  manage.py set_firebase_credentials --project {slug} FILE\n"
            f"  manage.py create_api_key NAME --project {slug}"
        )


def _check(project: Project) -> None:
    """As its page does."""
    try:
        project.full_clean()
    except ValidationError as error:
        lines = [
            f"{OPTIONS.get(name, name)}: {' '.join(messages)}"
            for name, messages in error.message_dict.items()
        ]
        raise CommandError("\n".join(lines)) from None
