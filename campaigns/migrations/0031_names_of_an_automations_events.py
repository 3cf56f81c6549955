"""An automation's events are named like those that come in: said of the fields. No SQL."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import migrations, models

NAMED = RegexValidator(
    r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z",
    "A name starts with a letter and holds letters, digits and _ only, 64 at most.",
)


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0030_receipts")]
    operations = [
        migrations.AlterField(
            model_name="automation",
            name="event_name",
            field=models.CharField(max_length=64, validators=[NAMED]),
        ),
        migrations.AlterField(
            model_name="automation",
            name="unless_name",
            field=models.CharField(blank=True, max_length=64, validators=[NAMED]),
        ),
    ]
