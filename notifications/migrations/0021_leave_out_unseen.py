from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("notifications", "0020_attributes"),
    ]

    # Two steps: a default of the first would be written into the projects that are there, for which
    # the policy is off until somebody says otherwise.
    operations = [
        migrations.AddField(
            model_name="project",
            name="leave_out_unseen_days",
            field=models.PositiveSmallIntegerField(
                "leave out devices unseen for days", blank=True, null=True
            ),
        ),
        migrations.AlterField(
            model_name="project",
            name="leave_out_unseen_days",
            field=models.PositiveSmallIntegerField(
                "leave out devices unseen for days",
                blank=True,
                default=270,
                help_text=(
                    "Nothing is sent to a device whose app has not been opened for so long: FCM "
                    "would call most of them dead. Empty: none is left out."
                ),
                null=True,
                validators=[MinValueValidator(1), MaxValueValidator(3650)],
            ),
        ),
    ]
