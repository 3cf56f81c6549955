from django.db import migrations, models

from notifications.people.events.names import validate_event_name


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0003_crashed_workers")]

    operations = [
        migrations.AlterField(
            model_name="automation",
            name="event_name",
            field=models.CharField(max_length=64, validators=[validate_event_name]),
        ),
        migrations.AlterField(
            model_name="automation",
            name="unless_name",
            field=models.CharField(blank=True, max_length=64, validators=[validate_event_name]),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="goal_event",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=64,
                validators=[validate_event_name],
            ),
        ),
    ]
