import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# A release that does not know of text checks may delete a campaign: they go with it.
KEY = """
ALTER TABLE campaigns_textcheck ADD CONSTRAINT text_checks_go_with_their_campaign
FOREIGN KEY (campaign_id) REFERENCES campaigns_campaign (id) ON DELETE CASCADE
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0042_run_revisions'),
        ('notifications', '0041_own_hosts'),
    ]

    operations = [
        migrations.CreateModel(
            name='TextCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('reading', 'Reading'), ('finished', 'Finished'), ('cancelled', 'Cancelled'), ('failed', 'Failed')], default='waiting', max_length=9)),
                ('by', models.CharField(max_length=200)),
                ('language', models.CharField(default='en', max_length=10)),
                ('problem', models.CharField(blank=True, max_length=500)),
                ('tries_links', models.BooleanField(default=False)),
                ('days', models.PositiveSmallIntegerField(default=7, validators=[django.core.validators.MaxValueValidator(90)])),
                ('content', models.JSONField()),
                ('rules', models.JSONField()),
                ('asks', models.JSONField()),
                ('plan', models.JSONField(null=True)),
                ('position', models.BigIntegerField(default=0)),
                ('tally', models.JSONField(default=dict)),
                ('links', models.JSONField(default=list)),
                ('report', models.JSONField(null=True)),
                ('lease', models.IntegerField(default=0)),
                ('leased_until', models.DateTimeField(null=True)),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('campaign', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='text_checks', to='campaigns.campaign')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AddIndex(
            model_name='textcheck',
            index=models.Index(fields=['campaign', '-id'], name='text_checks_of_campaign'),
        ),
        migrations.AddIndex(
            model_name='textcheck',
            index=models.Index(condition=models.Q(('state__in', ('waiting', 'reading'))), fields=['project'], name='text_checks_under_way'),
        ),
        migrations.AddConstraint(
            model_name='textcheck',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ('waiting', 'reading'))), fields=('campaign',), name='one_text_check_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='textcheck',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'finished'), _negated=True), ('report__isnull', False), _connector='OR'), name='a_finished_text_check_has_a_report'),
        ),
        migrations.AddConstraint(
            model_name='textcheck',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('problem', ''), _negated=True), _connector='OR'), name='a_failed_text_check_says_why'),
        ),
        migrations.RunSQL(KEY, "ALTER TABLE campaigns_textcheck DROP CONSTRAINT text_checks_go_with_their_campaign"),
    ]
