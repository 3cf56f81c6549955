from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

# The release before knows no clock but its own: see 0052. One that it launches begins with the day
# in the first zone of all, and goes by each person's best hour, too.
GUARD = """
CREATE OR REPLACE FUNCTION run_gets_its_hour() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    launched record;
    wall timestamp;
BEGIN
    SELECT c.at, c.timezone, c.passed, c.best_hour, CASE c.zoneless
        WHEN 'project' THEN p.timezone WHEN 'campaign' THEN c.timezone ELSE '' END AS otherwise
    INTO launched
    FROM campaigns_campaign c JOIN notifications_project p ON p.id = c.project_id
    WHERE c.id = NEW.campaign_id AND c.local_time;
    IF FOUND THEN
        wall := launched.at AT TIME ZONE launched.timezone;
        NEW.hour := jsonb_build_object('at', to_char(wall, 'YYYY-MM-DD"T"HH24:MI:SS'),
            'zone', launched.otherwise, 'passed', launched.passed);
        IF launched.best_hour THEN
            NEW.hour := NEW.hour || '{"best": true}';
            wall := date_trunc('day', wall);
        END IF;
        NEW.scheduled_at := greatest(
            statement_timestamp(), (wall - interval '14 hours') AT TIME ZONE 'UTC');
    END IF;
    RETURN NEW;
END
$$;
"""
BEFORE = """
CREATE OR REPLACE FUNCTION run_gets_its_hour() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    launched record;
    wall timestamp;
BEGIN
    SELECT c.at, c.timezone, c.passed, CASE c.zoneless
        WHEN 'project' THEN p.timezone WHEN 'campaign' THEN c.timezone ELSE '' END AS otherwise
    INTO launched
    FROM campaigns_campaign c JOIN notifications_project p ON p.id = c.project_id
    WHERE c.id = NEW.campaign_id AND c.local_time;
    IF FOUND THEN
        wall := launched.at AT TIME ZONE launched.timezone;
        NEW.hour := jsonb_build_object('at', to_char(wall, 'YYYY-MM-DD"T"HH24:MI:SS'),
            'zone', launched.otherwise, 'passed', launched.passed);
        NEW.scheduled_at := greatest(
            statement_timestamp(), (wall - interval '14 hours') AT TIME ZONE 'UTC');
    END IF;
    RETURN NEW;
END
$$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0059_opens'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='best_hour',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='recipient',
            name='best_hour',
            field=models.SmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='recipient',
            name='opened_then',
            field=models.SmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='recipient',
            name='opened',
            field=models.SmallIntegerField(null=True),
        ),
        migrations.CreateModel(
            name='Opens',
            fields=[
                ('contact_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('hours', ArrayField(base_field=models.IntegerField(), size=None)),
                ('best_hour', models.SmallIntegerField(null=True)),
                ('opened_then', models.SmallIntegerField(null=True)),
                ('opened', models.SmallIntegerField(null=True)),
                ('oldest_day', models.DateField()),
            ],
            options={
                'indexes': [models.Index(fields=['oldest_day'], name='opens_by_oldest_day')],
            },
        ),
        migrations.RunSQL(GUARD, BEFORE),
    ]
