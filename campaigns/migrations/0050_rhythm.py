import django.core.validators
from django.db import migrations, models


# The release before runs beside this one, and knows every day, week and month alone. It would start
# a series on days that are left out: its run is refused, as when somebody else was faster, and this
# release starts it on the right day.
GUARD = """
CREATE FUNCTION run_is_on_its_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM campaigns_campaign WHERE id = NEW.campaign_id
            AND (every > 1 OR on_days <> '' OR days_off <> '')) THEN
        RAISE EXCEPTION 'This release knows every day, week and month alone.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER run_is_on_its_days BEFORE INSERT ON campaigns_run FOR EACH ROW
    WHEN (NEW.kind = 'campaign' AND NEW.occurrence <> 'once' AND NEW.knows_days IS NULL)
    EXECUTE FUNCTION run_is_on_its_days();
"""
UNGUARDED = """
DROP TRIGGER run_is_on_its_days ON campaigns_run;
DROP FUNCTION run_is_on_its_days();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0049_texts_of_variants'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='days_off',
            field=models.TextField(blank=True, db_default='', default=''),
        ),
        migrations.AddField(
            model_name='campaign',
            name='every',
            field=models.PositiveSmallIntegerField(db_default=1, default=1, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(365)]),
        ),
        migrations.AddField(
            model_name='campaign',
            name='on_days',
            field=models.CharField(blank=True, choices=[('', 'Each of them'), ('workdays', 'Only Monday to Friday'), ('last_day', "On the month's last day")], db_default='', default='', max_length=8),
        ),
        migrations.AddField(
            model_name='run',
            name='knows_days',
            field=models.BooleanField(default=True, editable=False, null=True),
        ),
        migrations.RunSQL(GUARD, UNGUARDED),
    ]
