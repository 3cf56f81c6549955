import django.core.validators
from django.db import migrations, models

# The release before runs beside this one, and keeps to no opens: as 0053 says of a spread.
GUARD = """
CREATE FUNCTION run_keeps_to_opens() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before campaigns_run;
BEGIN
    IF NEW.occurrence <> 'once' THEN
        SELECT * INTO before FROM campaigns_run
        WHERE campaign_id = NEW.campaign_id AND kind = 'campaign' AND occurrence <> 'once'
        ORDER BY id DESC LIMIT 1;
        -- As `series.stopped` says it.
        IF FOUND AND before.series_stopped_at IS NULL AND NOT (
                before.state = 'cancelled' AND before.started_at IS NULL
                AND NOT (before.cause = '' AND before.cause_detail <> '')) THEN
            NEW.opens_per_second := before.opens_per_second;
            RETURN NEW;
        END IF;
    END IF;
    SELECT opens_per_second INTO NEW.opens_per_second
    FROM campaigns_campaign WHERE id = NEW.campaign_id;
    RETURN NEW;
END
$$;
CREATE TRIGGER run_keeps_to_opens BEFORE INSERT ON campaigns_run FOR EACH ROW
    WHEN (NEW.kind = 'campaign' AND NEW.opens_per_second IS NULL)
    EXECUTE FUNCTION run_keeps_to_opens();
"""
UNGUARDED = """
DROP TRIGGER run_keeps_to_opens ON campaigns_run;
DROP FUNCTION run_keeps_to_opens();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0058_counted_by_time'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='opens_per_second',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[
                django.core.validators.MinValueValidator(1),
                django.core.validators.MaxValueValidator(100_000),
            ]),
        ),
        migrations.AddField(
            model_name='run',
            name='opens_per_second',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='opens_rate',
            field=models.FloatField(editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ('opens_per_second__isnull', True),
                    ('opens_per_second__gte', 1),
                    _connector='OR',
                ),
                name='opens_are_at_least_one',
            ),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ('opens_per_second__isnull', True),
                    models.Q(('state', 'sending'), _negated=True),
                    models.Q(('assigned__isnull', False), ('opens_rate__gt', 0)),
                    _connector='OR',
                ),
                name='who_keeps_to_opens_is_marked',
            ),
        ),
        migrations.RunSQL(GUARD, UNGUARDED),
    ]
