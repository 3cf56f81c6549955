"""What a scope may do is said in staff/access.py, and changes there without a migration. No SQL."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0027_fewer_indexes")]

    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="scopes",
            field=ArrayField(base_field=models.CharField(max_length=20), size=None),
        ),
    ]
