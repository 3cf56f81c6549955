"""Row locks: lock a row until the transaction ends, and set how long to wait for locks."""

from __future__ import annotations

from contextlib import suppress

from django.core.exceptions import ObjectDoesNotExist
from django.db import connection
from django.db.models import Model


def lock_and_reload(row: Model | None) -> None:
    """Lock and reload a row until the transaction ends.

    Call it before you check that the row is unchanged: of two people who save at once, the second
    sees what the first saved.
    """
    if row is not None and row.pk:
        rows = type(row)._base_manager.select_for_update(no_key=True)
        with suppress(ObjectDoesNotExist):  # deleted meanwhile: saving it reports that
            row.refresh_from_db(from_queryset=rows)


def set_lock_timeout(seconds: int) -> None:
    """Wait for locks up to this long, until this transaction ends. The default is two seconds."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{seconds:d}s'")
