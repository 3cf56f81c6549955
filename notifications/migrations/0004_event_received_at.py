from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("notifications", "0003_events_kept_and_their_ids")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE notifications_event ADD COLUMN IF NOT EXISTS received_at timestamptz",
            migrations.RunSQL.noop,
        ),
    ]
