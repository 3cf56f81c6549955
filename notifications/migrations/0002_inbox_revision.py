from __future__ import annotations

from django.db import migrations, models

from notifications.postgres.migrating import run_file


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_release_0_1_0")]

    operations = [
        migrations.AddField(
            model_name="inboxitem",
            name="revision",
            field=models.SmallIntegerField(db_default=1, default=1),
        ),
        run_file("notifications/inbox/text.sql"),
    ]
