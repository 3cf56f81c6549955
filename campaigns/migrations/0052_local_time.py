from django.db import migrations, models

# The release before runs beside this one, and knows no clock but its own:
#
# - It launches a campaign that goes by each reader's clock: its run does, too, and begins earlier.
# - It freezes people: a constraint keeps the run from sending, and this release freezes it.
# - It claims a chunk: it does not say that it knows who waits, so a trigger of 0047 leaves it out.
GUARD = """
CREATE FUNCTION run_gets_its_hour() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER run_gets_its_hour BEFORE INSERT ON campaigns_run FOR EACH ROW
    WHEN (NEW.kind = 'campaign' AND NEW.occurrence = 'once' AND NEW.hour IS NULL)
    EXECUTE FUNCTION run_gets_its_hour();
"""
UNGUARDED = """
DROP TRIGGER run_gets_its_hour ON campaigns_run;
DROP FUNCTION run_gets_its_hour();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0051_quiet_hours'),
        ('notifications', '0044_quiet_hours'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='local_time',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='campaign',
            name='passed',
            field=models.CharField(choices=[('next_day', 'They get it the next day, at that time'), ('now', 'They get it at once'), ('skip', 'They get nothing')], db_default='next_day', default='next_day', max_length=8),
        ),
        migrations.AddField(
            model_name='campaign',
            name='zoneless',
            field=models.CharField(choices=[('project', "They go by the project's time zone"), ('campaign', 'They go by the time zone above'), ('skip', 'They get nothing')], db_default='project', default='project', max_length=8),
        ),
        migrations.AddField(
            model_name='run',
            name='hour',
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='delivery',
            name='reason',
            field=models.CharField(blank=True, choices=[('unregistered', 'App uninstalled or address expired'), ('malformed_address', 'Not a valid FCM address'), ('other_project', 'Address belongs to another Firebase project'), ('refused_message', 'FCM refused the message itself'), ('invalid_message', "This person's message breaks one of FCM's rules"), ('unreadable_message', 'FCM could not read our request'), ('platform_key', 'Firebase lacks a valid APNs or web push key'), ('throttled', 'Still throttled by FCM after the last try'), ('device_throttled', 'The device still gets too many pushes, says FCM'), ('unavailable', 'FCM was out of service, and may have taken it'), ('server_error', 'FCM failed while processing it, and may have taken it'), ('unreachable', 'FCM could not be reached, after the last try'), ('unknown_answer', 'FCM gave an unexpected answer'), ('missing_value', 'A value the text needs is missing for this person'), ('template_error', 'The text could not be rendered for this person'), ('too_long', "The rendered message is over FCM's 4,096 bytes"), ('unsubscribed', 'This person does not want such messages'), ('suppressed', 'This person is on the suppression list'), ('online', 'This person was looking at their inbox'), ('control', 'In the control group, which gets nothing'), ('holdout', 'In the holdout, which gets no campaigns'), ('quiet_hours', "It would have expired before this person's quiet hours ended"), ('local_time', 'That time had passed where this person is'), ('no_zone', "Nobody knows this person's time zone"), ('device_gone', 'The device was removed or retired after the snapshot'), ('expired', "The campaign's deadline passed first"), ('cancelled', 'The run was cancelled first'), ('unanswered', 'The request left, but no answer came'), ('interrupted', 'A worker died while the request was on its way'), ('cut_short', 'No answer came, and the run was cancelled before another try'), ('let_be', 'Unknown, and somebody chose to keep it as unknown')], max_length=20),
        ),
        migrations.AlterField(
            model_name='retry',
            name='reason',
            field=models.CharField(choices=[('unregistered', 'App uninstalled or address expired'), ('malformed_address', 'Not a valid FCM address'), ('other_project', 'Address belongs to another Firebase project'), ('refused_message', 'FCM refused the message itself'), ('invalid_message', "This person's message breaks one of FCM's rules"), ('unreadable_message', 'FCM could not read our request'), ('platform_key', 'Firebase lacks a valid APNs or web push key'), ('throttled', 'Still throttled by FCM after the last try'), ('device_throttled', 'The device still gets too many pushes, says FCM'), ('unavailable', 'FCM was out of service, and may have taken it'), ('server_error', 'FCM failed while processing it, and may have taken it'), ('unreachable', 'FCM could not be reached, after the last try'), ('unknown_answer', 'FCM gave an unexpected answer'), ('missing_value', 'A value the text needs is missing for this person'), ('template_error', 'The text could not be rendered for this person'), ('too_long', "The rendered message is over FCM's 4,096 bytes"), ('unsubscribed', 'This person does not want such messages'), ('suppressed', 'This person is on the suppression list'), ('online', 'This person was looking at their inbox'), ('control', 'In the control group, which gets nothing'), ('holdout', 'In the holdout, which gets no campaigns'), ('quiet_hours', "It would have expired before this person's quiet hours ended"), ('local_time', 'That time had passed where this person is'), ('no_zone', "Nobody knows this person's time zone"), ('device_gone', 'The device was removed or retired after the snapshot'), ('expired', "The campaign's deadline passed first"), ('cancelled', 'The run was cancelled first'), ('unanswered', 'The request left, but no answer came'), ('interrupted', 'A worker died while the request was on its way'), ('cut_short', 'No answer came, and the run was cancelled before another try'), ('let_be', 'Unknown, and somebody chose to keep it as unknown')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('hour__isnull', True), models.Q(('state', 'sending'), _negated=True), ('assigned__isnull', False), _connector='OR'), name='who_waits_for_an_hour_is_marked'),
        ),
        migrations.RunSQL(GUARD, UNGUARDED),
    ]
