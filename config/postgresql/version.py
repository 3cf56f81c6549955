"""Refuses an old PostgreSQL: before a start, and in `manage.py migrate` and `check`.

Both run before anything is changed.
"""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.validation import BaseDatabaseValidation

from config.boot.prerequisites import old_postgresql

NUMBER = "SELECT current_setting('server_version_num')::integer"


class Validation(BaseDatabaseValidation):
    def check(self, **kwargs: Any) -> list[CheckMessage]:
        messages = super().check(**kwargs)
        trouble = too_old(self.connection)
        return [*messages, Error(trouble, id="carillon.E001")] if trouble else messages


def too_old(connection: BaseDatabaseWrapper) -> str:
    """The error text; empty if the version is recent enough."""
    with connection.cursor() as cursor:
        cursor.execute(NUMBER)
        return old_postgresql(cursor.fetchone()[0])
