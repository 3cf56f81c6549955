import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0016_index_consent'),
    ]

    operations = [
        migrations.CreateModel(
            name='Import',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text="The file's name.", max_length=200)),
                ('size', models.BigIntegerField(help_text='In bytes, as declared before the upload.')),
                ('state', models.CharField(choices=[('uploading', 'Uploading'), ('ready', 'Ready'), ('checking', 'Checking'), ('checked', 'Checked'), ('merging', 'Importing'), ('finished', 'Finished'), ('stopped', 'Stopped'), ('failed', 'Failed')], default='uploading', max_length=9)),
                ('mode', models.CharField(choices=[('add', 'Add and update'), ('replace', 'Replace'), ('remove', 'Remove')], default='add', max_length=7)),
                ('resubscribe', models.BooleanField(default=False)),
                ('by', models.CharField(help_text='user:NAME or carillon.', max_length=200)),
                ('language', models.CharField(default='en', max_length=10)),
                ('problem', models.CharField(blank=True, max_length=500)),
                ('sniffed', models.JSONField(blank=True, default=dict)),
                ('head_digest', models.CharField(blank=True, max_length=64)),
                ('mapping', models.JSONField(blank=True, default=list)),
                ('position', models.JSONField(blank=True, default=dict)),
                ('staged_at', models.DateTimeField(blank=True, null=True)),
                ('done_up_to', models.CharField(blank=True, max_length=200)),
                ('rows', models.BigIntegerField(default=0)),
                ('refused', models.BigIntegerField(default=0)),
                ('duplicates', models.BigIntegerField(default=0, help_text='Rows of a person named again.')),
                ('people', models.BigIntegerField(default=0, help_text='Different people in the file.')),
                ('handled', models.BigIntegerField(default=0, help_text='People counted or merged so far.')),
                ('foreseen', models.JSONField(blank=True, default=dict)),
                ('counts', models.JSONField(blank=True, default=dict)),
                ('lease', models.IntegerField(default=0)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
            ],
            options={
                'verbose_name': 'import',
                'verbose_name_plural': 'imports',
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='ImportBatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.IntegerField()),
                ('contact_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='batches', to='notifications.import')),
            ],
        ),
        migrations.CreateModel(
            name='ImportPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.IntegerField()),
                ('content', models.BinaryField()),
                ('size', models.IntegerField()),
                ('digest', models.CharField(max_length=64)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='notifications.import')),
            ],
        ),
        migrations.CreateModel(
            name='ImportRefusal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('line', models.BigIntegerField()),
                ('column', models.CharField(blank=True, max_length=200)),
                ('reason', models.CharField(max_length=500)),
                ('cells', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('file', models.CharField(blank=True, max_length=200)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refusals', to='notifications.import')),
            ],
        ),
        migrations.AddIndex(
            model_name='import',
            index=models.Index(fields=['project', '-id'], name='import_of_project'),
        ),
        migrations.AddIndex(
            model_name='import',
            index=models.Index(condition=models.Q(('head_digest', ''), _negated=True), fields=['project', 'head_digest', '-id'], name='import_with_this_head'),
        ),
        migrations.AddIndex(
            model_name='import',
            index=models.Index(condition=models.Q(('state__in', ['checking', 'merging'])), fields=['state'], name='imports_under_way'),
        ),
        migrations.AddConstraint(
            model_name='import',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('problem', ''), _negated=True), _connector='OR'), name='a_failed_import_says_why'),
        ),
        migrations.AddConstraint(
            model_name='importbatch',
            constraint=models.UniqueConstraint(fields=('owner', 'number'), name='an_import_batch_merged_once'),
        ),
        migrations.AddConstraint(
            model_name='importpart',
            constraint=models.UniqueConstraint(fields=('owner', 'number'), name='one_import_part_per_number'),
        ),
        migrations.AddConstraint(
            model_name='importpart',
            constraint=models.CheckConstraint(condition=models.Q(('number__gte', 0)), name='import_parts_count_from_0'),
        ),
        migrations.AddIndex(
            model_name='importrefusal',
            index=models.Index(fields=['owner', 'id'], name='refused_rows_of_import'),
        ),
        # Pieces of a part are read one after the other: PostgreSQL cuts them out of it, where it
        # would have to unpack the whole for each.
        migrations.RunSQL(
            "ALTER TABLE notifications_importpart ALTER COLUMN content SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
    ]
