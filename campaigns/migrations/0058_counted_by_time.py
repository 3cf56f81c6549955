import django.contrib.postgres.indexes
import django.db.models.functions.datetime
from django.db import migrations, models

# The rows stay: who has had enough keeps having had enough.
BY_TIME = """
ALTER TABLE campaigns_counted
    DROP CONSTRAINT campaigns_counted_pkey,
    ADD COLUMN category bigint,
    ADD CONSTRAINT campaigns_counted_pkey PRIMARY KEY (contact_id, at, run_id, seq)
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0057_once_each'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='counted', name='counted_by_time'),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(BY_TIME, migrations.RunSQL.noop)],
            state_operations=[
                migrations.DeleteModel(name='Counted'),
                migrations.CreateModel(
                    name='Counted',
                    fields=[
                        ('pk', models.CompositePrimaryKey('contact_id', 'at', 'run_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
                        ('contact_id', models.BigIntegerField()),
                        ('run_id', models.BigIntegerField()),
                        ('seq', models.IntegerField()),
                        ('message', models.BigIntegerField()),
                        ('category', models.BigIntegerField(null=True)),
                        ('at', models.DateTimeField()),
                    ],
                ),
            ],
        ),
        migrations.AddIndex(
            model_name='counted',
            index=django.contrib.postgres.indexes.BrinIndex(django.db.models.functions.datetime.Extract('at', 'epoch'), name='counted_by_time'),
        ),
    ]
