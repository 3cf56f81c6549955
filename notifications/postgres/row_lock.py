"""A row held: whoever changes it meanwhile waits until this transaction ends; and how long."""

from __future__ import annotations

from contextlib import suppress

from django.core.exceptions import ObjectDoesNotExist
from django.db import connection
from django.db.models import Model


def hold(row: Model | None) -> None:
    """As it is now, until the transaction ends. Before one looks whether it is what was seen: of
    two who save at once, the second sees what the first saved."""
    if row is not None and row.pk:
        rows = type(row)._base_manager.select_for_update(no_key=True)
        with suppress(ObjectDoesNotExist):  # whoever saves it is told
            row.refresh_from_db(from_queryset=rows)


def wait_for_locks(seconds: int) -> None:
    """Until this transaction ends; elsewhere nobody waits for more than two seconds."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{seconds:d}s'")
