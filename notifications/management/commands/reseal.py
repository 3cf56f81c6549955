"""`manage.py reseal`: all that is sealed, under the first key of CREDENTIALS_KEY.

May be repeated, and interrupted: each thing is sealed by a statement of its own, and the keys
behind the first open what is still to come.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from notifications.gateway import WrongKey
from notifications.keys import inbox_secret, sealing
from notifications.keys.credentials import ServiceAccount
from notifications.staff import audit, second_factor
from notifications.staff.subjects import Subject
from notifications.webhooks import endpoint


class Command(BaseCommand):
    help = "Encrypt all secrets with the first key of CREDENTIALS_KEY; the others can then go."

    def handle(self, **_: Any) -> None:
        accounts, lost = _seal_accounts()
        factors, lost_factors = second_factor.seal_anew()
        tokens, lost_tokens = inbox_secret.seal_anew()
        endpoints, lost_endpoints = endpoint.reseal_all()
        summary = (
            f"{accounts} service accounts, {factors} second factors, {tokens} inbox secrets and "
            f"{endpoints} endpoints"
        )
        counts: dict[str, Any] = {
            "service_accounts": accounts,
            "second_factors": factors,
            "inbox_secrets": tokens,
            "endpoints": endpoints,
        }
        audit.record("carillon", "re-encrypted", Subject("serviceaccount"), project=None, **counts)
        unopened = {
            "service account": lost,
            "second factor": lost_factors,
            "inbox secret": lost_tokens,
            "endpoint": lost_endpoints,
        }
        if any(unopened.values()):
            raise CommandError(_remedy(summary, unopened))
        self.stdout.write(
            f"{summary} are encrypted with {sealing.key_id()} now; the others already were."
        )
        self.stdout.write(
            "The keys behind the first can be removed. With several machines: from all at once."
        )


def _seal_accounts() -> tuple[int, list[str]]:
    """How many were not sealed with today's key, and the projects whose account no key opens."""
    others = ServiceAccount.objects.exclude(sealed_with=sealing.key_id())
    older = list(others.select_related("project").order_by("pk"))
    lost = [account.project.slug for account in older if not _can_open(account)]
    return len(older) - len(lost), lost


def _can_open(account: ServiceAccount) -> bool:
    try:
        account.open()
    except WrongKey:
        return False
    return True


def _remedy(summary: str, unopened: dict[str, list[str]]) -> str:
    lost = [
        f"No key opens the {kind} of {', '.join(names)} here."
        for kind, names in unopened.items()
        if names
    ]
    return " ".join(
        (
            f"{summary} were encrypted again.",
            *lost,
            "Add the key they were encrypted with behind the first. If it is lost:",
            "manage.py set_firebase_credentials, Team → Forget the second factor,",
            "Projects → New inbox secret, and Reports → add the endpoint anew.",
            "Keep the keys behind the first until then.",
        )
    )
