from django.db import migrations, models

# As in 0050: the release before knows no days of the week either.
GUARD = """
CREATE OR REPLACE FUNCTION run_is_on_its_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM campaigns_campaign WHERE id = NEW.campaign_id
            AND (every > 1 OR on_days <> '' OR weekdays <> '' OR days_off <> '')) THEN
        RAISE EXCEPTION 'This release knows every day, week and month alone.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
"""
AS_BEFORE = GUARD.replace("OR weekdays <> '' ", "")


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0068_series_by_the_clock'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='weekdays',
            field=models.CharField(blank=True, db_default='', default='', max_length=27),
        ),
        migrations.RunSQL(GUARD, AS_BEFORE),
    ]
