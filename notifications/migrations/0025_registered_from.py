from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0024_plain_words")]

    operations = [
        migrations.AddField(
            model_name="device",
            name="registered_from",
            field=models.CharField(
                blank=True,
                choices=[("app", "App"), ("api", "API"), ("import", "Import"), ("page", "by hand")],
                db_default="",
                default="",
                editable=False,
                max_length=6,
            ),
        ),
    ]
