"""`manage.py set_firebase_credentials`: check and encrypt a service account, and send to Google."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from notifications.key_check import KeyCheck, check_key
from notifications.keys import credentials
from notifications.management.projects import project_named
from notifications.people.project import Project
from notifications.staff import audit


class Command(BaseCommand):
    help = (
        "Set the service account a project sends with, and check with FCM whether it works. "
        "Replaces an earlier one. Without FILE: check the key the project has."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, nargs="?", help="the JSON file from the Firebase console"
        )
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument(
            "--machine",
            action="store_true",
            help="send with this machine's own (application default) credentials instead",
        )

    def handle(self, *, file: Path | None, project: str, machine: bool, **_: Any) -> None:
        owner = project_named(project)
        if file and machine:
            raise CommandError("Give a FILE or --machine, not both.")
        if file:
            self.stdout.write(store(owner, file))
            self.stdout.write(check_key(owner).words)
            return
        result = use_machine(owner) if machine else check_key(owner)
        if not result.ok:
            raise CommandError(result.words)
        self.stdout.write(result.words)


def store(owner: Project, file: Path) -> str:
    """Check, encrypt and use the account in this file; what was done, in a sentence."""
    try:
        account = credentials.use(owner, credentials.parse(content(file)))
    except ValidationError as error:
        raise CommandError(f"{file}: {' '.join(error.messages)}") from None
    record(owner, client_email=account.client_email)
    to = "the FCM emulator" if owner.uses_emulator else "FCM"
    return f"Project “{owner.slug}” sends to {to} as {account.client_email}."


def use_machine(owner: Project) -> KeyCheck:
    """Only once FCM has accepted them: a project whose key works is not to lose it by mistake."""
    owner.uses_default_credentials = True
    result = check_key(owner)
    if result.ok:
        owner.save(update_fields=["uses_default_credentials"])
        record(owner, credentials="machine's")
    return result


def record(owner: Project, **detail: Any) -> None:
    audit.record("carillon", "set credentials", owner, project=owner, **detail)


def content(file: Path) -> bytes:
    """What the file holds, or a CommandError that says why it cannot be read."""
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            raise CommandError(f"{file}: cannot be read: it is not a file.")
        with file.open("rb") as opened:
            return opened.read(credentials.MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file}: cannot be read: {error.strerror}.") from error
