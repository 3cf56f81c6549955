"""A static list may be filled in the background: what from, and how far it is."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("campaigns", "0020_keep_what_results_are_cut_by"),
    ]

    operations = [
        migrations.AddField(
            model_name="audience",
            name="filling",
            field=models.JSONField(
                editable=False,
                help_text="Of a list that is being filled: whom its rules find, and how far it is.",
                null=True,
            ),
        ),
    ]
