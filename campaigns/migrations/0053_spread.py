import django.core.validators
from django.db import migrations, models

# The release before runs beside this one, and spreads nothing:
#
# - It launches a campaign that is spread, or the next run of a series: its run is spread, too.
# - It freezes people: a constraint keeps the run from sending, and this release freezes it.
# - It claims a chunk: it does not say that it knows the pace, so a trigger of 0047 leaves it out.
GUARD = """
CREATE FUNCTION run_is_spread() RETURNS trigger LANGUAGE plpgsql AS $$
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
            NEW.spread_seconds := before.spread_seconds;
            RETURN NEW;
        END IF;
    END IF;
    SELECT spread_seconds INTO NEW.spread_seconds
    FROM campaigns_campaign WHERE id = NEW.campaign_id;
    RETURN NEW;
END
$$;
CREATE TRIGGER run_is_spread BEFORE INSERT ON campaigns_run FOR EACH ROW
    WHEN (NEW.kind = 'campaign' AND NEW.spread_seconds IS NULL) EXECUTE FUNCTION run_is_spread();
"""
UNGUARDED = """
DROP TRIGGER run_is_spread ON campaigns_run;
DROP FUNCTION run_is_spread();
"""
A_WEEK = 7 * 86_400


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0052_local_time'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='spread_seconds',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[
                django.core.validators.MinValueValidator(60),
                django.core.validators.MaxValueValidator(A_WEEK),
            ]),
        ),
        migrations.AddField(
            model_name='run',
            name='spread_seconds',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ('spread_seconds__isnull', True),
                    models.Q(('spread_seconds__gte', 60), ('spread_seconds__lte', A_WEEK)),
                    _connector='OR',
                ),
                name='a_spread_in_range',
            ),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ('spread_seconds__isnull', True),
                    models.Q(('state', 'sending'), _negated=True),
                    ('assigned__isnull', False),
                    _connector='OR',
                ),
                name='who_is_spread_is_marked',
            ),
        ),
        migrations.RunSQL(GUARD, UNGUARDED),
    ]
