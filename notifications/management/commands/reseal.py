"""`manage.py reseal`: all that is sealed, under the first key of CREDENTIALS_KEY.

May be repeated, and interrupted: each account is sealed by a statement of its own, and the keys
behind the first open what is still to come.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from notifications import audit, sealing
from notifications.credentials import ServiceAccount
from notifications.gateway import WrongKey


class Command(BaseCommand):
    help = "Seal the service accounts with the first key of CREDENTIALS_KEY; others may go then."

    def handle(self, **_: Any) -> None:
        ours = sealing.key_id()
        older = list(
            ServiceAccount.objects.exclude(sealed_with=ours)
            .select_related("project")
            .order_by("pk")
        )
        lost = [account.project.slug for account in older if not _sealed_anew(account)]
        done = len(older) - len(lost)
        audit.record("carillon", "resealed", f"{done} service accounts", project=None)
        if lost:
            raise CommandError(_remedy(done, lost))
        self.stdout.write(f"{done} service accounts are sealed with {ours} now, the others were.")
        self.stdout.write("Keys behind the first may go. On several machines: from all at once.")


def _sealed_anew(account: ServiceAccount) -> bool:
    try:
        account.open()
    except WrongKey:
        return False
    return True


def _remedy(done: int, lost: list[str]) -> str:
    return (
        f"{done} are sealed anew. No key opens the service account of {', '.join(lost)} here: put "
        "the key it was sealed with behind the first, or manage.py set_firebase_credentials. "
        "Keep the keys behind the first until then."
    )
