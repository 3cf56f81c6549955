from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0001_release_0_1_0")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="resumed_late_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
