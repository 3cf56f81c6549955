from __future__ import annotations

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0028_scopes_are_said_in_code")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="allowed_origins",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=255),
                blank=True,
                db_default=[],
                default=list,
                help_text=(
                    "Web pages that may call us with a person's inbox token, such as "
                    "https://shop.example.com, with commas between them. Phone apps need no entry."
                ),
                size=None,
            ),
        ),
        migrations.CreateModel(
            name="InboxSecret",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(editable=False, max_length=12, unique=True)),
                ("sealed", models.BinaryField()),
                ("sealed_with", models.CharField(editable=False, max_length=8)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ends_at", models.DateTimeField(editable=False, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="notifications.project"
                    ),
                ),
            ],
            options={
                "verbose_name": "inbox secret",
                "verbose_name_plural": "inbox secrets",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ends_at__isnull", True)),
                        fields=("project",),
                        name="one_inbox_secret_in_force",
                    )
                ],
            },
        ),
    ]
