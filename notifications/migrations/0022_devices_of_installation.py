from __future__ import annotations

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Left

NAME = "devices_of_installation"


class Migration(migrations.Migration):

    # There may be millions of devices, and apps register meanwhile: nobody waits for an index.
    # One that was killed half-way leaves an invalid index under its name: away with it first.
    atomic = False

    dependencies = [
        ("notifications", "0021_leave_out_unseen"),
    ]

    operations = [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {NAME}", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="device",
            index=models.Index(
                models.F("project"),
                Left("address", 22),
                condition=models.Q(("retired_at__isnull", True)),
                name=NAME,
            ),
        ),
    ]
