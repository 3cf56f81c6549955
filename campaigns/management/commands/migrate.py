"""`manage.py migrate`: Django's command; first it upgrades a database from before 0.1.0.

The release after 0.1.0 deletes this file and `from_before_0_1_0.sql`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.migrations.recorder import MigrationRecorder

RELEASE = "0001_release_0_1_0"
APPS = ("notifications", "campaigns")
LAST_COMMIT_BEFORE = "2d5f7cd8"
CHANGES = Path(__file__).with_name("from_before_0_1_0.sql")
TOO_OLD = (
    "This database is from before the last commit that could upgrade it. Back it up, check out"
    f" {LAST_COMMIT_BEFORE}, run `manage.py migrate` there, and run it here again."
)


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        only_asks = options.get("plan") or options.get("check_unapplied")
        make_fit(options.get("database", DEFAULT_DB_ALIAS), only_asks=bool(only_asks))
        super().handle(*args, **options)


def make_fit(alias: str, *, only_asks: bool) -> None:
    """Drop what only releases before 0.1.0 needed. Django then records that release as applied.

    If the process dies here: nothing has changed, or the next call does it again without effect.
    """
    connection = connections[alias]
    applied = {one for one in MigrationRecorder(connection).applied_migrations() if one[0] in APPS}
    if not applied or ("campaigns", RELEASE) in applied:
        return
    if not applied.issuperset(migrations_before()):
        raise CommandError(TOO_OLD)
    if not only_asks:
        with transaction.atomic(alias), connection.cursor() as cursor:
            cursor.execute(CHANGES.read_text())


def migrations_before() -> set[tuple[str, str]]:
    releases = (import_module(f"{app}.migrations.{RELEASE}").Migration for app in APPS)
    return {tuple(one) for release in releases for one in release.replaces}
