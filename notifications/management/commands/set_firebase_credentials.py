"""`manage.py set_firebase_credentials`: check and encrypt a service account, and send to Google."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from notifications import audit
from notifications.credentials import ServiceAccount
from notifications.management.projects import project_named

MAX_BYTES = 64 * 1024  # a service account has 2.4 kB


class Command(BaseCommand):
    help = "Give a project the service account it sends with. Replaces an earlier one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the JSON file from the Firebase console")
        parser.add_argument("--project", required=True, metavar="SLUG")

    def handle(self, *, file: Path, project: str, **_: Any) -> None:
        owner = project_named(project)
        info = read(file)
        with transaction.atomic():
            try:
                account = ServiceAccount.store(owner, info)
            except ValidationError as error:
                raise CommandError(f"{file}: {' '.join(error.messages)}") from error
            owner.uses_emulator = info["token_uri"] != settings.GOOGLE_TOKEN_URI
            owner.save(update_fields=["uses_emulator"])
            audit.record(
                "carillon", "set credentials", f"project {owner.slug}", project=owner,
                client_email=account.client_email,
            )  # fmt: skip
        to = "the FCM emulator" if owner.uses_emulator else "FCM"
        self.stdout.write(f"Project “{owner.slug}” sends to {to} as {account.client_email}.")


def read(file: Path) -> dict[str, str]:
    """The file as a service account's JSON could be, or a CommandError that says what it is not."""
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            raise CommandError(f"{file}: cannot be read: it is not a file.")
        if found.st_size > MAX_BYTES:
            raise CommandError(f"{file}: far too large for a service account's JSON.")
        info = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"{file}: cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{file}: is not JSON. Download it again from Firebase.") from error
    if not isinstance(info, dict):
        raise CommandError(f"{file}: is not a service account's JSON: not an object.")
    if odd := sorted(name for name, value in info.items() if not isinstance(value, str)):
        raise CommandError(f"{file}: {', '.join(odd)[:200]} must be texts.")
    return info
