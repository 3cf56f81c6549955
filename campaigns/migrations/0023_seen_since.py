from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("campaigns", "0022_audience_size"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="seen_since",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
