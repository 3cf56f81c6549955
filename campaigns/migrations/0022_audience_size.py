"""What an audience's list says of its size: counted when somebody asks, and kept with its time."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0021_fill_lists")]

    operations = [
        # Nullable: the release before goes on making audiences without it.
        migrations.AddField("audience", "size", models.JSONField(editable=False, null=True)),
    ]
