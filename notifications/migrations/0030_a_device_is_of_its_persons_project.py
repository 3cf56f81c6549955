from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("notifications", "0029_inbox_secrets"),
    ]

    operations = [
        # Checked for each device, and never false while its person is there, whose key is checked.
        migrations.AlterField(
            model_name="device",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="notifications.project",
            ),
        ),
    ]
