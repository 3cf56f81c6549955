from django.db import migrations

# The release before runs beside this one, and knows no clock but its own: see 0052. A run that it
# makes of a series by each reader's clock is for the time of its occurrence; who would be late for
# it gets the next one.
CAMPAIGN = """
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
{meant}
        NEW.hour := jsonb_build_object('at', to_char(wall, 'YYYY-MM-DD"T"HH24:MI:SS'),
            'zone', launched.otherwise, 'passed', launched.passed);
        IF launched.best_hour THEN
            NEW.hour := NEW.hour || '{{"best": true}}';
            wall := date_trunc('day', wall);
        END IF;
        NEW.scheduled_at := greatest(
            statement_timestamp(), (wall - interval '14 hours') AT TIME ZONE 'UTC');
    END IF;
    RETURN NEW;
END
$$;
DROP TRIGGER run_gets_its_hour ON campaigns_run;
CREATE TRIGGER run_gets_its_hour BEFORE INSERT ON campaigns_run FOR EACH ROW
    WHEN ({only} AND NEW.hour IS NULL)
    EXECUTE FUNCTION run_gets_its_hour();
"""
GUARD = CAMPAIGN.format(
    meant="""
        IF NEW.occurrence = 'once' THEN
            wall := launched.at AT TIME ZONE launched.timezone;
        ELSE
            wall := NEW.occurrence::timestamptz AT TIME ZONE launched.timezone;
            launched.passed := 'skip';
        END IF;""",
    only="NEW.kind = 'campaign'",
)
BEFORE = CAMPAIGN.format(
    meant="        wall := launched.at AT TIME ZONE launched.timezone;",
    only="NEW.kind = 'campaign' AND NEW.occurrence = 'once'",
)


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0067_foreseen_opens'),
    ]

    operations = [migrations.RunSQL(GUARD, BEFORE)]
