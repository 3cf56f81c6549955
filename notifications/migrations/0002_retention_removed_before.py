from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_release_0_1_0")]

    operations = [
        migrations.AddField(
            model_name="retention",
            name="removed_before",
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
