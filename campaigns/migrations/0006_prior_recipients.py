import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Names in Python; the tables keep theirs, so that release 0.1.0 runs beside this one."""

    dependencies = [("campaigns", "0005_without_a_winner")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Had", "PriorRecipient"),
                migrations.AlterModelTable("PriorRecipient", "campaigns_had"),
                migrations.RenameModel("Remembered", "IndexedRun"),
                migrations.AlterModelTable("IndexedRun", "campaigns_remembered"),
                migrations.AlterField(
                    model_name="indexedrun",
                    name="run",
                    field=models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="indexed",
                        serialize=False,
                        to="campaigns.run",
                    ),
                ),
            ]
        )
    ]
