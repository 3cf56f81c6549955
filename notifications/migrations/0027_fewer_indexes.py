from __future__ import annotations

import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

# Django's own, of the foreign keys to the project: others begin with it, too.
NEEDLESS = {
    "contact": "notifications_contact_project_id_36049123",
    "device": "notifications_device_project_id_3c553f62",
}
# Rows come with growing ids: at the end of an index they fill its pages, in front they halve them.
DOWNWARDS = {"contact": "contact_of_project", "device": "device_of_project"}
UPWARDS = {"contact": "contacts_of_project", "device": "devices_of_project"}


class Migration(migrations.Migration):

    # There may be millions of people, and apps write them all day: nobody waits for an index.
    # One that was killed half-way leaves an invalid index under its name: away with it first.
    atomic = False

    dependencies = [
        ("notifications", "0026_import_ahead"),
    ]

    operations = [
        *(
            operation
            for model in NEEDLESS
            for operation in (
                migrations.RunSQL(
                    f"DROP INDEX CONCURRENTLY IF EXISTS {UPWARDS[model]}", migrations.RunSQL.noop
                ),
                AddIndexConcurrently(
                    model_name=model,
                    index=models.Index(fields=["project", "id"], name=UPWARDS[model]),
                ),
                RemoveIndexConcurrently(model_name=model, name=DOWNWARDS[model]),
                migrations.SeparateDatabaseAndState(
                    database_operations=[
                        migrations.RunSQL(
                            f"DROP INDEX CONCURRENTLY IF EXISTS {NEEDLESS[model]}",
                            migrations.RunSQL.noop,
                        )
                    ],
                    state_operations=[
                        migrations.AlterField(
                            model_name=model,
                            name="project",
                            field=models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                to="notifications.project",
                            ),
                        )
                    ],
                ),
            )
        ),
    ]
