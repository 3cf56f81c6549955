from __future__ import annotations

from typing import Any

from django.db import connection, migrations

AT_ONCE = 100_000

# Of the active addresses of one installation, the one that was registered last stays. Each is
# looked up by the index of 0022; the pairs are few.
RETIRE = """
UPDATE notifications_device older
SET retired_at = now(), retired_reason = 'replaced', retired_by = ''
WHERE older.id >= %(first)s AND older.id < %(end)s AND older.retired_at IS NULL
    AND substr(older.address, 23, 1) = CASE older.kind WHEN 'token' THEN ':' ELSE '' END
    AND length(older.address) >= 22 AND left(older.address, 22) ~ '^[A-Za-z0-9_-]{22}$'
    AND EXISTS (
        SELECT FROM notifications_device newer
        WHERE newer.project_id = older.project_id
            AND left(newer.address, 22) = left(older.address, 22) AND newer.retired_at IS NULL
            AND substr(newer.address, 23, 1) = CASE newer.kind WHEN 'token' THEN ':' ELSE '' END
            AND (newer.registered_at, newer.id) > (older.registered_at, older.id)
    )
"""


def retire_older(apps: Any, schema_editor: Any) -> None:
    """In parts, so that no app waits long to register. If the process dies here: what is done
    stays, and the next time begins anew."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT COALESCE(max(id), 0) FROM notifications_device")
        for first in range(0, cursor.fetchone()[0] + 1, AT_ONCE):
            cursor.execute(RETIRE, {"first": first, "end": first + AT_ONCE})


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ("notifications", "0022_devices_of_installation"),
    ]

    operations = [
        # What was retired is the app's to bring back: it registers the address again.
        migrations.RunPython(retire_older, migrations.RunPython.noop),
    ]
