import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


# A text that somebody was sent is evidence: another one is another row.
UNCHANGED = """
CREATE FUNCTION run_revisions_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A revision of a run''s text is never changed: % is refused.', TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER run_revisions_stay BEFORE UPDATE ON campaigns_runrevision
    FOR EACH ROW EXECUTE FUNCTION run_revisions_stay();
"""
UNDONE = """
DROP TRIGGER run_revisions_stay ON campaigns_runrevision;
DROP FUNCTION run_revisions_stay();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0041_snippets'),
    ]

    operations = [
        migrations.AddField(
            model_name='chunk',
            name='revisions',
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name='delivery',
            name='revision',
            field=models.SmallIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name='run',
            name='revision',
            field=models.SmallIntegerField(db_default=1, default=1, editable=False),
        ),
        migrations.AddField(
            model_name='window',
            name='revision',
            field=models.SmallIntegerField(db_default=1, default=1),
        ),
        migrations.CreateModel(
            name='RunRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.SmallIntegerField()),
                ('content', models.JSONField()),
                ('next_runs', models.BooleanField(db_default=False, default=False)),
                ('by', models.CharField(max_length=200)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='campaigns.run')),
            ],
            options={
                'ordering': ['number'],
                'constraints': [
                    models.UniqueConstraint(fields=('run', 'number'), name='one_run_revision_per_number'),
                    models.CheckConstraint(condition=models.Q(('number__gt', 1)), name='the_first_revision_is_the_runs_own'),
                ],
            },
        ),
        migrations.RunSQL(UNCHANGED, UNDONE),
    ]
