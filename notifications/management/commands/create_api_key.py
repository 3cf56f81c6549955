"""`manage.py create_api_key`: a key for a program. Printed this once; only its hash is kept."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from notifications.management.projects import project_named
from notifications.staff import audit
from notifications.staff.api_key import ApiKey, Scope


class Command(BaseCommand):
    help = "Create an API key for a project and print it, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the program that will use it, e.g. “crm”")
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="may be given several times; without it, the key may do everything",
        )

    def handle(self, *, name: str, project: str, scope: list[str] | None, **_: Any) -> None:
        if not name.strip() or len(name) > 100:
            raise CommandError("NAME must have 1 to 100 characters, and not only spaces.")
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
            raise CommandError("NAME holds a control character, such as a new line; remove it.")
        owner = project_named(project)
        with transaction.atomic():
            row, key = ApiKey.issue(owner, name, sorted(set(scope)) if scope else None)
            audit.record("carillon", "created", row, project=owner, name=name)
        # The key alone on stdout: KEY=$(manage.py create_api_key …) is what scripts write.
        self.stderr.write(
            f"{row.name}: may {', '.join(row.scopes)}. Keep it; it is not shown again."
        )
        self.stdout.write(key)
