import django.db.models.deletion
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    # There may be millions of devices, and apps write them all day: nobody waits for an index.
    # One that was killed half-way leaves an invalid index under its name: away with it first. The
    # table comes last, so that the same migration can be begun again.
    atomic = False

    dependencies = [
        ('notifications', '0036_reports_out'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS opt_outs_by_day", migrations.RunSQL.noop),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS dead_devices_by_day", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='consentchange',
            index=models.Index(condition=models.Q(('category', ''), ('wanted', False)), fields=['project', 'at'], name='opt_outs_by_day'),
        ),
        AddIndexConcurrently(
            model_name='device',
            index=models.Index(condition=models.Q(('retired_by', ''), _negated=True), fields=['project', 'retired_at'], name='dead_devices_by_day'),
        ),
        migrations.AlterField(
            model_name='project',
            name='asks_receipts',
            field=models.BooleanField(db_default=False, default=False, help_text='Results then tell how many opened a message. Each carries an id by which your app reports that it was received, shown or opened; the app has to be made ready for that (docs/receipts.md). It takes about 60 of the 4,096 bytes.', verbose_name='ask for receipts'),
        ),
        migrations.CreateModel(
            name='Figure',
            fields=[
                ('pk', models.CompositePrimaryKey('project_id', 'what', 'at', blank=True, editable=False, primary_key=True, serialize=False)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                ('what', models.CharField(max_length=20)),
                ('at', models.DateTimeField()),
                ('count', models.BigIntegerField()),
                ('counted_at', models.DateTimeField()),
            ],
        ),
    ]
