from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("notifications", "0025_registered_from"),
    ]

    operations = [
        migrations.AddField(
            model_name="import",
            name="ahead",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
