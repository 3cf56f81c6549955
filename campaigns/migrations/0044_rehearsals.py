import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0043_text_checks'),
        ('notifications', '0040_find_testers'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='run',
            name='a_run_state_we_know',
        ),
        migrations.AlterField(
            model_name='run',
            name='kind',
            field=models.CharField(choices=[('campaign', 'Campaign'), ('messages', 'Messages'), ('rehearsal', 'Rehearsal')], db_default='campaign', default='campaign', max_length=9),
        ),
        migrations.AlterField(
            model_name='run',
            name='state',
            field=models.CharField(choices=[('scheduled', 'Scheduled'), ('preparing', 'Preparing'), ('sending', 'Sending'), ('rehearsing', 'Rehearsing'), ('paused', 'Paused'), ('finished', 'Finished'), ('cancelled', 'Cancelled'), ('open', 'Open')], max_length=10),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['scheduled', 'preparing', 'sending', 'rehearsing', 'paused', 'finished', 'cancelled', 'open'])), name='a_run_state_we_know'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'rehearsal'), _negated=True), ('state__in', ['preparing', 'rehearsing', 'paused', 'finished', 'cancelled']), _connector='OR'), name='a_rehearsal_never_sends'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'rehearsing'), _negated=True), ('kind', 'rehearsal'), _connector='OR'), name='only_a_rehearsal_rehearses'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('finished_at', None), ('kind', 'rehearsal')), fields=('campaign',), name='one_rehearsal_at_a_time'),
        ),
        migrations.CreateModel(
            name='Rehearsal',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='rehearsal', serialize=False, to='campaigns.run')),
                ('sample', models.PositiveIntegerField(null=True)),
                ('seed', models.BigIntegerField()),
                ('retires', models.BooleanField(help_text='Whether what FCM calls dead is retired.')),
                ('devices', models.PositiveIntegerField(null=True)),
                ('people', models.PositiveIntegerField(null=True)),
                ('strata', models.JSONField(db_default={}, default=dict)),
                ('errors', models.JSONField(null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('sample__isnull', True), models.Q(('sample__gte', 100), ('sample__lte', 100000)), _connector='OR'), name='a_sample_says_something')],
            },
        ),
    ]
