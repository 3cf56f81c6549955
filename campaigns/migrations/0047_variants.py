import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


REASONS = [
    ('unregistered', 'App uninstalled or address expired'),
    ('malformed_address', 'Not a valid FCM address'),
    ('other_project', 'Address belongs to another Firebase project'),
    ('refused_message', 'FCM refused the message itself'),
    ('invalid_message', "This person's message breaks one of FCM's rules"),
    ('unreadable_message', 'FCM could not read our request'),
    ('platform_key', 'Firebase lacks a valid APNs or web push key'),
    ('throttled', 'Still throttled by FCM after the last try'),
    ('device_throttled', 'The device still gets too many pushes, says FCM'),
    ('unavailable', 'FCM was out of service, and may have taken it'),
    ('server_error', 'FCM failed while processing it, and may have taken it'),
    ('unreachable', 'FCM could not be reached, after the last try'),
    ('unknown_answer', 'FCM gave an unexpected answer'),
    ('missing_value', 'A value the text needs is missing for this person'),
    ('template_error', 'The text could not be rendered for this person'),
    ('too_long', "The rendered message is over FCM's 4,096 bytes"),
    ('unsubscribed', 'This person does not want such messages'),
    ('suppressed', 'This person is on the suppression list'),
    ('online', 'This person was looking at their inbox'),
    ('control', 'In the control group, which gets nothing'),
    ('holdout', 'In the holdout, which gets no campaigns'),
    ('device_gone', 'The device was removed or retired after the snapshot'),
    ('expired', "The campaign's deadline passed first"),
    ('cancelled', 'The run was cancelled first'),
    ('unanswered', 'The request left, but no answer came'),
    ('interrupted', 'A worker died while the request was on its way'),
    ('cut_short', 'No answer came, and the run was cancelled before another try'),
    ('let_be', 'Unknown, and somebody chose to keep it as unknown'),
]
BY = [
    ('', 'All'), ('platform', 'Platform'), ('locale', 'Locale'), ('timezone', 'Timezone'),
    ('app_version', 'App Version'), ('variant', 'Variant'), ('after', 'After'),
]
# The release before runs beside this one, and knows no groups: it would send the main text to
# everybody, to those as well who are to get nothing. So what it writes of a run with groups is
# left out (its UPDATE finds no row, as when somebody else was faster), and this release does it.
#
# - It copies a series: the groups are copied with it.
# - It launches a campaign that has groups: refused with an error, for it cannot freeze the texts.
# - It freezes people: their groups are missing, which shows as `assigned` lagging behind.
# - It claims a chunk: it does not say that it knows of groups, by `split_attempt`.
GUARDS = """
CREATE FUNCTION run_gets_its_split() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before campaigns_run;
BEGIN
    IF NEW.occurrence <> 'once' THEN
        SELECT * INTO before FROM campaigns_run
        WHERE campaign_id = NEW.campaign_id AND occurrence <> 'once' ORDER BY id DESC LIMIT 1;
        IF FOUND AND before.series_stopped_at IS NULL THEN
            NEW.control_percent := before.control_percent;
            NEW.past_holdout := before.past_holdout;
            NEW.split := CASE WHEN before.split ? 'weights'
                    AND (jsonb_array_length(before.split -> 'weights') > 1
                        OR before.control_percent > 0)
                THEN jsonb_build_object(
                    'seed', before.split -> 'seed', 'weights', before.split -> 'weights',
                    'texts', COALESCE(before.split -> 'texts', to_jsonb(before.id)))
                ELSE '{}'::jsonb END;
            RETURN NEW;
        END IF;
    END IF;
    IF EXISTS (SELECT FROM campaigns_variant WHERE campaign_id = NEW.campaign_id)
            OR EXISTS (SELECT FROM campaigns_campaign
                WHERE id = NEW.campaign_id AND control_percent > 0) THEN
        RAISE EXCEPTION 'This release knows no variants and no control group.'
            USING ERRCODE = 'check_violation';
    END IF;
    NEW.split := '{}'::jsonb;
    RETURN NEW;
END
$$;
CREATE TRIGGER run_gets_its_split BEFORE INSERT ON campaigns_run FOR EACH ROW
    WHEN (NEW.kind = 'campaign' AND NEW.split IS NULL) EXECUTE FUNCTION run_gets_its_split();

CREATE FUNCTION run_is_frozen_in_groups() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF COALESCE(NEW.split, '{}'::jsonb) <> '{}'::jsonb OR (
        NOT NEW.past_holdout AND NEW.category_kind NOT IN ('transactional', 'critical')
        AND EXISTS (SELECT FROM notifications_project
            WHERE id = NEW.project_id AND holdout_percent > 0)
    ) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER run_is_frozen_in_groups BEFORE UPDATE OF planned ON campaigns_run FOR EACH ROW
    WHEN (NEW.kind = 'campaign' AND NEW.planned IS DISTINCT FROM OLD.planned
        AND NEW.assigned IS DISTINCT FROM NEW.planned)
    EXECUTE FUNCTION run_is_frozen_in_groups();

CREATE FUNCTION chunk_is_left_alone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END
$$;
CREATE TRIGGER chunk_is_left_alone BEFORE UPDATE OF state ON campaigns_chunk FOR EACH ROW
    WHEN (NEW.split AND NEW.state = 'leased' AND OLD.state <> 'leased'
        AND NEW.split_attempt IS DISTINCT FROM NEW.attempt)
    EXECUTE FUNCTION chunk_is_left_alone();

CREATE FUNCTION run_variants_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A variant of a run''s text is never changed: % is refused.', TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER run_variants_stay BEFORE UPDATE ON campaigns_runvariant
    FOR EACH ROW EXECUTE FUNCTION run_variants_stay();
"""
UNGUARDED = """
DROP TRIGGER run_variants_stay ON campaigns_runvariant;
DROP FUNCTION run_variants_stay();
DROP TRIGGER chunk_is_left_alone ON campaigns_chunk;
DROP FUNCTION chunk_is_left_alone();
DROP TRIGGER run_is_frozen_in_groups ON campaigns_run;
DROP FUNCTION run_is_frozen_in_groups();
DROP TRIGGER run_gets_its_split ON campaigns_run;
DROP FUNCTION run_gets_its_split();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0046_first_part'),
        ('notifications', '0043_holdout'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='control_percent',
            field=models.PositiveSmallIntegerField(blank=True, db_default=0, default=0, validators=[django.core.validators.MaxValueValidator(90)]),
        ),
        migrations.AddField(
            model_name='campaign',
            name='past_holdout',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='campaign',
            name='weight',
            field=models.PositiveSmallIntegerField(db_default=50, default=50, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)]),
        ),
        migrations.AddField(
            model_name='chunk',
            name='split',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='chunk',
            name='split_attempt',
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='recipient',
            name='variant',
            field=models.SmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='assigned',
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='control_percent',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='run',
            name='past_holdout',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='run',
            name='split',
            field=models.JSONField(default=dict, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='delivery',
            name='reason',
            field=models.CharField(blank=True, choices=REASONS, max_length=20),
        ),
        migrations.AlterField(
            model_name='retry',
            name='reason',
            field=models.CharField(choices=REASONS, max_length=20),
        ),
        migrations.AlterField(
            model_name='echosum',
            name='by',
            field=models.CharField(blank=True, choices=BY, max_length=11),
        ),
        migrations.AlterField(
            model_name='goalsum',
            name='by',
            field=models.CharField(blank=True, choices=BY, max_length=11),
        ),
        migrations.CreateModel(
            name='RunVariant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.SmallIntegerField()),
                ('content', models.JSONField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='variants', to='campaigns.run')),
            ],
            options={
                'ordering': ['number'],
                'constraints': [
                    models.UniqueConstraint(fields=('run', 'number'), name='one_run_variant_per_number'),
                    models.CheckConstraint(condition=models.Q(('number__gt', 0), ('number__lt', 5)), name='the_main_text_is_the_runs_own'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Variant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.SmallIntegerField()),
                ('weight', models.PositiveSmallIntegerField(default=50, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)])),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='variants', to='campaigns.campaign')),
                ('template', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='variants', to='campaigns.template')),
            ],
            options={
                'ordering': ['number'],
                'constraints': [
                    models.UniqueConstraint(fields=('campaign', 'number'), name='one_variant_per_number'),
                    models.CheckConstraint(condition=models.Q(('number__gt', 0), ('number__lt', 5)), name='a_variant_we_know'),
                    models.CheckConstraint(condition=models.Q(('weight__gte', 1), ('weight__lte', 100)), name='a_weight_in_range'),
                ],
            },
        ),
        migrations.RunSQL(GUARDS, UNGUARDED),
    ]
