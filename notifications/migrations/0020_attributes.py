"""What a project says of its people: types that are declared, and what people are found by."""

from __future__ import annotations

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0019_retention")]

    operations = [
        migrations.CreateModel(
            name="Attribute",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        max_length=64,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z_][A-Za-z0-9_]{0,63}\\Z",
                                "A name starts with a letter and holds letters, digits and _ only, 64 at most.",
                            )
                        ],
                    ),
                ),
                (
                    "type",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("text", "Text"),
                            ("number", "Number"),
                            ("boolean", "Yes or no"),
                            ("time", "Date or time"),
                            ("list", "List"),
                        ],
                        help_text="Values of any other type are refused: by the API, in imports and on pages.",
                        max_length=7,
                    ),
                ),
                (
                    "searchable",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="People are found by its whole value, on the page of people.",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="notifications.project"
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "name"), name="one_attribute_per_name"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("type__in", ["", "text", "number", "boolean", "time", "list"])
                        ),
                        name="an_attribute_type_we_know",
                    ),
                ],
            },
        ),
    ]
