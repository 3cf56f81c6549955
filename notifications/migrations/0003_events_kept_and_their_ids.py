import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0002_inbox_revision")]

    operations = [
        migrations.AddField(
            model_name="retention",
            name="removed_before",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name="EventId",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id",
                        "digest",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="notifications.project",
                    ),
                ),
                ("digest", models.UUIDField()),
                ("at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.BrinIndex(
                        django.db.models.functions.datetime.Extract("at", "epoch"),
                        name="event_ids_by_time",
                    )
                ],
            },
        ),
    ]
