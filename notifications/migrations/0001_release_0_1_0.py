"""Everything as of release 0.1.0, in one step."""

import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
import notifications.people.contact
import notifications.people.device
import notifications.values.exact
import notifications.values.zones
from django.conf import settings
from django.db import migrations, models

from notifications.postgres.migrating import CreateTables, run_file


class Migration(migrations.Migration):

    initial = True

    # The migrations before this release. A database that has them all has this one.
    replaces = [
        ('notifications', '0001_initial'),
        ('notifications', '0002_idempotency_key'),
        ('notifications', '0003_speak_fcm_faithfully'),
        ('notifications', '0004_team'),
        ('notifications', '0005_audit'),
        ('notifications', '0006_device_address_tail'),
        ('notifications', '0007_remember_headers'),
        ('notifications', '0008_languages_in_any_case'),
        ('notifications', '0009_numbers_as_they_came'),
        ('notifications', '0010_request_id'),
        ('notifications', '0011_guesses'),
        ('notifications', '0012_image_hosts'),
        ('notifications', '0013_audit_subjects'),
        ('notifications', '0014_audit_found_by_subject'),
        ('notifications', '0015_consent'),
        ('notifications', '0016_index_consent'),
        ('notifications', '0017_imports'),
        ('notifications', '0018_events'),
        ('notifications', '0019_retention'),
        ('notifications', '0020_attributes'),
        ('notifications', '0021_leave_out_unseen'),
        ('notifications', '0022_devices_of_installation'),
        ('notifications', '0023_one_device_per_installation'),
        ('notifications', '0024_plain_words'),
        ('notifications', '0025_registered_from'),
        ('notifications', '0026_import_ahead'),
        ('notifications', '0027_fewer_indexes'),
        ('notifications', '0028_scopes_are_said_in_code'),
        ('notifications', '0029_inbox_secrets'),
        ('notifications', '0030_a_device_is_of_its_persons_project'),
        ('notifications', '0031_inbox'),
        ('notifications', '0032_online'),
        ('notifications', '0033_inbox_collapse'),
        ('notifications', '0034_asks_receipts'),
        ('notifications', '0035_counted_links_and_figures'),
        ('notifications', '0036_reports_out'),
        ('notifications', '0037_figures'),
        ('notifications', '0038_calls_about_people'),
        ('notifications', '0039_testers'),
        ('notifications', '0040_find_testers'),
        ('notifications', '0041_own_hosts'),
        ('notifications', '0042_images'),
        ('notifications', '0043_holdout'),
        ('notifications', '0044_quiet_hours'),
        ('notifications', '0045_caps'),
        ('notifications', '0046_load'),
        ('notifications', '0047_caps_of_categories'),
        ('notifications', '0048_health'),
        ('notifications', '0049_erased'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateTables([
            migrations.CreateModel(
                name='Erased',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('contact_id', models.BigIntegerField()),
                    ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ],
            ),
            migrations.CreateModel(
                name='Feed',
                fields=[
                    ('name', models.CharField(max_length=300, primary_key=True, serialize=False)),
                    ('streams', models.IntegerField()),
                    ('sent', models.BigIntegerField()),
                    ('cut', models.BigIntegerField()),
                    ('seen_at', models.DateTimeField()),
                ],
                options={
                    'db_table': 'notifications_feed',
                },
            ),
            migrations.CreateModel(
                name='Guesses',
                fields=[
                    ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                    ('wrong', models.IntegerField()),
                    ('ends_at', models.DateTimeField(db_index=True)),
                ],
            ),
            migrations.CreateModel(
                name='Online',
                fields=[
                    ('contact_id', models.BigIntegerField(primary_key=True, serialize=False)),
                    ('seen_at', models.DateTimeField()),
                ],
                options={
                    'db_table': 'notifications_online',
                    'indexes': [models.Index(fields=['seen_at'], name='online_by_time')],
                },
            ),
            migrations.CreateModel(
                name='Project',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('slug', models.SlugField(help_text='Short name used by commands and the API.', unique=True)),
                    ('name', models.CharField(max_length=100)),
                    ('firebase_project_id', models.CharField(help_text='As the Firebase console shows it.', max_length=100, verbose_name='Firebase project ID')),
                    ('uses_emulator', models.BooleanField(default=True, help_text='Send to the FCM emulator, not to Google. Setting credentials switches it off.')),
                    ('quota_per_minute', models.PositiveIntegerField(default=600000, help_text="FCM's quota of this Firebase project. We send at most 80 % of it.", validators=[django.core.validators.MinValueValidator(60)])),
                    ('ramp_seconds', models.PositiveIntegerField(default=60, help_text='After a rest the rate grows over this time, as Google asks. 0: at once.', validators=[django.core.validators.MaxValueValidator(3600)], verbose_name='seconds to full speed')),
                    ('floor_per_second', models.PositiveIntegerField(blank=True, db_default=10, default=10, help_text='However busy your own servers say they are (docs/timing.md), what is sent to many goes on at this rate. Where nobody reports it, it means nothing.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100000)], verbose_name='at least, per second')),
                    ('load_url', models.CharField(blank=True, db_default='', default='', editable=False, max_length=2048, verbose_name='health address')),
                    ('load_number', models.CharField(blank=True, db_default='', default='', editable=False, max_length=200, verbose_name='number there')),
                    ('uses_default_credentials', models.BooleanField(default=False, help_text='Application default credentials of the machine, instead of an uploaded key.')),
                    ('timezone', models.CharField(default='UTC', max_length=64, validators=[notifications.values.zones.validate_zone], verbose_name='time zone')),
                    ('image_hosts', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), blank=True, db_default=[], default=list, help_text='Our pages show images from these hosts only, such as cdn.example.com or *.example.com, with commas between them. Phones fetch them from anywhere.', size=None)),
                    ('own_hosts', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), blank=True, db_default=[], default=list, help_text='Hosts of your own, such as shop.example.com or *.example.com, with commas between them. A text check tries links and images of these only, if somebody asks for it.', size=None)),
                    ('allowed_origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), blank=True, db_default=[], default=list, help_text="Web pages that may call us with a person's inbox token, such as https://shop.example.com, with commas between them. Phone apps need no entry.", size=None)),
                    ('leave_out_unseen_days', models.PositiveSmallIntegerField(blank=True, default=270, help_text='Devices whose app was not opened for this long get no messages: FCM would call most of them dead. Empty: none is left out.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(3650)], verbose_name='leave out devices unseen for days')),
                    ('quiet_from', models.TimeField(blank=True, help_text='By the clock where the person is, such as 21:00. Messages that come due later wait until the morning; what expires before is skipped. Critical categories go at any hour, and others that say so. Empty: no quiet hours.', null=True, verbose_name='quiet from')),
                    ('quiet_until', models.TimeField(blank=True, help_text="Such as 08:00. People without a time zone go by the project's.", null=True, verbose_name='quiet until')),
                    ('cap_per_day', models.PositiveSmallIntegerField(blank=True, help_text='So many messages a person gets in 24 hours, whatever they are of; further ones skip them. What is transactional or critical always reaches them, and categories say otherwise. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='at most, a day')),
                    ('cap_per_week', models.PositiveSmallIntegerField(blank=True, help_text='The same in seven days. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(500)], verbose_name='at most, in seven days')),
                    ('cap_gap_minutes', models.PositiveSmallIntegerField(blank=True, help_text='What would come sooner after another message skips the person. Empty: none.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10080)], verbose_name='at least, minutes between two')),
                    ('holdout_percent', models.PositiveSmallIntegerField(blank=True, db_default=0, default=0, help_text='So many of the people, always the same ones, get nothing of what is sent to many: compare what they do with what the others do. Messages to single people, and what is transactional or critical, reach them. 0: nobody is held out.', validators=[django.core.validators.MaxValueValidator(50)], verbose_name='holdout, percent')),
                    ('asks_receipts', models.BooleanField(db_default=False, default=False, help_text='Results then tell how many opened a message. Each carries an id by which your app reports that it was received, shown or opened; the app has to be made ready for that (docs/receipts.md). It takes about 60 of the 4,096 bytes.', verbose_name='ask for receipts')),
                    ('counts_links', models.CharField(blank=True, choices=[('', 'None'), ('web', 'Web push: what the browser opens by itself'), ('every', 'Every https link, also what apps open')], db_default='', default='', help_text='The link leads through our address, which counts it as opened and leads on at once. It takes about 75 bytes and the link itself by a third longer.', max_length=5, verbose_name='count opened links')),
                    ('fcm_app_id', models.CharField(blank=True, db_default='', default='', help_text="Such as 1:1234567890:android:321abc456def7890, from the Firebase console → Project settings → Your apps. With it, FCM's own figures are fetched once a day. Empty: they are not.", max_length=100, verbose_name='Android app ID')),
                    ('wanted_reports', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), db_default=[], default=list, editable=False, size=None)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['name'],
                    'constraints': [models.CheckConstraint(condition=models.Q(('quota_per_minute__gte', 60)), name='a_project_has_a_quota'), models.CheckConstraint(condition=models.Q(('floor_per_second__gte', 1)), name='a_floor_is_at_least_one'), models.CheckConstraint(condition=models.Q(models.Q(('quiet_from__isnull', True), ('quiet_until__isnull', True)), models.Q(('quiet_from__isnull', False), ('quiet_until__isnull', False), models.Q(('quiet_from', models.F('quiet_until')), _negated=True)), _connector='OR'), name='quiet_hours_begin_and_end')],
                },
            ),
            migrations.CreateModel(
                name='TeamMember',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='team_member', to=settings.AUTH_USER_MODEL)),
                    ('role', models.CharField(choices=[('viewer', 'Viewer: sees people, texts, runs and results'), ('editor', 'Editor: also writes audiences and texts, and plans; launches nothing'), ('sender', 'Sender: also launches, pauses, resumes and cancels'), ('operator', 'Operator: also projects, their credentials, API keys and workers'), ('owner', 'Owner: also the team')], max_length=20)),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'editor', 'sender', 'operator', 'owner'])), name='team_role_is_known')],
                },
            ),
            migrations.CreateModel(
                name='ApiKey',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('name', models.CharField(max_length=100)),
                    ('prefix', models.CharField(editable=False, max_length=12, unique=True)),
                    ('digest', models.CharField(editable=False, max_length=64)),
                    ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('expires_at', models.DateTimeField(blank=True, null=True)),
                    ('revoked_at', models.DateTimeField(blank=True, null=True)),
                    ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ],
                options={
                    'verbose_name': 'API key',
                    'verbose_name_plural': 'API keys',
                    'ordering': ['-id'],
                },
            ),
            migrations.CreateModel(
                name='Asking',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='asking', to='notifications.project')),
                    ('next_at', models.DateTimeField(db_index=True)),
                    ('asked_at', models.DateTimeField(null=True)),
                    ('told_at', models.DateTimeField(null=True)),
                    ('trouble', models.CharField(blank=True, choices=[('key', 'Key'), ('off', 'Off'), ('scope', 'Scope'), ('role', 'Role'), ('token', 'Token'), ('app', 'App'), ('busy', 'Busy'), ('unreachable', 'Unreachable'), ('unreadable', 'Unreadable')], max_length=11)),
                    ('said', models.CharField(blank=True, max_length=300)),
                ],
            ),
            migrations.CreateModel(
                name='Attribute',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('name', models.CharField(max_length=64, validators=[django.core.validators.RegexValidator('^[A-Za-z_][A-Za-z0-9_]{0,63}\\Z', 'A name starts with a letter and holds letters, digits and _ only, 64 at most.')])),
                    ('type', models.CharField(blank=True, choices=[('text', 'Text'), ('number', 'Number'), ('boolean', 'Yes or no'), ('time', 'Date or time'), ('list', 'List')], help_text='Values of any other type are refused: by the API, in imports and on pages.', max_length=7)),
                    ('searchable', models.BooleanField(db_default=False, default=False, help_text='People are found by its whole value, on the page of people.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'ordering': ['name'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='one_attribute_per_name'), models.CheckConstraint(condition=models.Q(('type__in', ['', 'text', 'number', 'boolean', 'time', 'list'])), name='an_attribute_type_we_know')],
                },
            ),
            migrations.CreateModel(
                name='AuditEntry',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='notifications.project')),
                    ('at', models.DateTimeField(auto_now_add=True)),
                    ('actor', models.CharField(help_text='user:NAME, key:PREFIX or carillon.', max_length=200)),
                    ('action', models.CharField(max_length=50)),
                    ('subject_kind', models.CharField(blank=True, db_default='', default='', editable=False, max_length=30)),
                    ('subject_id', models.BigIntegerField(editable=False, null=True)),
                    ('subject_name', models.CharField(blank=True, db_default='', default='', editable=False, max_length=200)),
                    ('subject', models.CharField(blank=True, db_default='', default='', help_text='What it was done to, e.g. run 81.', max_length=100)),
                    ('address', models.GenericIPAddressField(blank=True, help_text='Empty: a command on the server, or a worker.', null=True, verbose_name='from')),
                    ('request_id', models.CharField(blank=True, db_default='', default='', max_length=128, verbose_name='request ID')),
                    ('changes', models.JSONField(blank=True, default=dict, help_text='{field: [before, after]}')),
                    ('detail', models.JSONField(blank=True, default=dict)),
                ],
                options={
                    'verbose_name_plural': 'audit entries',
                    'ordering': ['-id'],
                    'indexes': [models.Index(condition=models.Q(('subject_id__isnull', False)), fields=['subject_kind', 'subject_id', '-id'], name='audit_of_a_row')],
                },
            ),
            migrations.CreateModel(
                name='Category',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('name', models.CharField(max_length=100)),
                    ('slug', models.SlugField(help_text='Short name that the API and imports use, such as offers. It stays as it is.')),
                    ('kind', models.CharField(choices=[('marketing', 'Marketing'), ('transactional', 'Transactional'), ('critical', 'Critical')], default='marketing', max_length=13)),
                    ('quiet_hours', models.CharField(choices=[('wait', 'Waits until they end'), ('send', 'Goes at any hour')], db_default='wait', default='wait', help_text='The project says which hours these are. What is critical goes at any hour.', max_length=4)),
                    ('caps', models.CharField(choices=[('keep', 'Skips people who have had enough, and counts'), ('exempt', 'Reaches everybody, and counts'), ('free', 'Reaches everybody, and does not count')], db_default='keep', default='keep', help_text='The project says how many messages are enough. What is transactional reaches everybody in any case, and what is critical does not count either.', max_length=6)),
                    ('cap_per_day', models.PositiveSmallIntegerField(blank=True, help_text="So many messages of this category a person gets in 24 hours; further ones skip them. The project's own caps hold as well. Empty: only those.", null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='at most, a day')),
                    ('cap_per_week', models.PositiveSmallIntegerField(blank=True, help_text="The same in seven days. Empty: only the project's.", null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(500)], verbose_name='at most, in seven days')),
                    ('cap_gap_minutes', models.PositiveSmallIntegerField(blank=True, help_text="What would come sooner after another message of this category skips the person. Empty: only the project's.", null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10080)], verbose_name='at least, minutes between two')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'verbose_name': 'category',
                    'verbose_name_plural': 'categories',
                    'ordering': ['name'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'slug'), name='one_category_per_slug'), models.CheckConstraint(condition=models.Q(('kind__in', ['marketing', 'transactional', 'critical'])), name='a_kind_of_category_we_know'), models.CheckConstraint(condition=models.Q(('slug', ''), _negated=True), name='a_category_has_a_slug'), models.CheckConstraint(condition=models.Q(('quiet_hours__in', ['wait', 'send'])), name='quiet_hours_we_know'), models.CheckConstraint(condition=models.Q(('caps__in', ['keep', 'exempt', 'free'])), name='a_way_with_caps_we_know')],
                },
            ),
            migrations.CreateModel(
                name='Contact',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('external_id', models.CharField(help_text="The app's own id of this person.", max_length=200)),
                    ('attributes', models.JSONField(blank=True, decoder=notifications.values.exact.Decoder, default=dict, encoder=notifications.values.exact.Encoder, validators=[notifications.people.contact.validate_attributes])),
                    ('locale', models.CharField(blank=True, max_length=35, validators=[django.core.validators.RegexValidator('^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*\\Z', 'Use a language tag such as en, ko or pt-BR.')])),
                    ('timezone', models.CharField(blank=True, max_length=64, validators=[notifications.values.zones.validate_zone], verbose_name='time zone')),
                    ('subscribed', models.BooleanField(db_default=True, default=True, editable=False)),
                    ('subscribed_at', models.DateTimeField(editable=False, null=True)),
                    ('subscribed_from', models.CharField(blank=True, db_default='', default='', editable=False, max_length=20)),
                    ('preferences', models.JSONField(blank=True, db_default={}, default=dict, editable=False)),
                    ('tester', models.BooleanField(db_default=False, default=False, help_text='Test sends to the testers go to them.')),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'verbose_name': 'person',
                    'verbose_name_plural': 'people',
                    'indexes': [models.Index(fields=['project', 'id'], name='contacts_of_project'), models.Index(condition=models.Q(('subscribed', False)), fields=['project'], name='contact_unsubscribed'), models.Index(condition=models.Q(('preferences', {}), _negated=True), fields=['project'], name='contact_with_choices'), models.Index(condition=models.Q(('tester', True)), fields=['project'], name='contact_testers'), django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.indexes.OpClass(models.F('attributes'), name='jsonb_path_ops'), name='contact_attributes'), models.Index(models.F('project'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('external_id'), name='text_pattern_ops'), name='contact_external_id_prefix')],
                    'constraints': [models.UniqueConstraint(fields=('project', 'external_id'), name='one_contact_per_external_id'), models.CheckConstraint(condition=models.Q(('external_id', ''), _negated=True), name='a_contact_has_an_id')],
                },
            ),
            migrations.CreateModel(
                name='Endpoint',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('name', models.CharField(max_length=100)),
                    ('via', models.CharField(choices=[('webhook', 'Webhook'), ('slack', 'Slack'), ('email', 'E-mail')], max_length=7)),
                    ('target', models.TextField(editable=False)),
                    ('sealed', models.BinaryField(null=True)),
                    ('sealed_before', models.BinaryField(null=True)),
                    ('before_ends_at', models.DateTimeField(editable=False, null=True)),
                    ('sealed_with', models.CharField(blank=True, editable=False, max_length=8)),
                    ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), default=list, size=None)),
                    ('only', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, size=None)),
                    ('batched', models.BooleanField(default=False)),
                    ('language', models.CharField(default='en', max_length=5)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('disabled_at', models.DateTimeField(editable=False, null=True)),
                    ('disabled_why', models.CharField(blank=True, choices=[('by_hand', 'Switched off by hand.'), ('gone', 'It answered 410 Gone: it wants no more.'), ('failing', 'It took nothing for 5 days.')], editable=False, max_length=10)),
                    ('answered_at', models.DateTimeField(editable=False, null=True)),
                    ('failing_since', models.DateTimeField(editable=False, null=True)),
                    ('failures', models.PositiveIntegerField(default=0, editable=False)),
                    ('rests_until', models.DateTimeField(editable=False, null=True)),
                ],
                options={
                    'ordering': ['name'],
                    'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='one_endpoint_per_name'), models.CheckConstraint(condition=models.Q(models.Q(('disabled_at__isnull', True), ('disabled_why', '')), models.Q(('disabled_at__isnull', False), models.Q(('disabled_why', ''), _negated=True)), _connector='OR'), name='a_disabled_endpoint_says_why')],
                },
            ),
            migrations.CreateModel(
                name='FcmDay',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('app_id', models.CharField(max_length=100)),
                    ('day', models.DateField()),
                    ('label', models.CharField(blank=True, max_length=50)),
                    ('accepted', models.BigIntegerField()),
                    ('percents', models.JSONField()),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('project', 'app_id', 'day', 'label'), name='one_figure_of_a_day')],
                },
            ),
            migrations.CreateModel(
                name='Figure',
                fields=[
                    ('pk', models.CompositePrimaryKey('project_id', 'what', 'at', blank=True, editable=False, primary_key=True, serialize=False)),
                    ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('what', models.CharField(max_length=20)),
                    ('at', models.DateTimeField()),
                    ('count', models.BigIntegerField()),
                    ('counted_at', models.DateTimeField()),
                ],
            ),
            migrations.CreateModel(
                name='Health',
                fields=[
                    ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='notifications.project')),
                    ('asked_at', models.DateTimeField()),
                    ('next_at', models.DateTimeField()),
                    ('trouble', models.CharField(blank=True, max_length=11)),
                    ('status', models.PositiveSmallIntegerField(null=True)),
                ],
            ),
            migrations.CreateModel(
                name='IdempotencyKey',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('key', models.CharField(max_length=255)),
                    ('fingerprint', models.CharField(help_text="Of the request's address and body.", max_length=64)),
                    ('status', models.PositiveSmallIntegerField()),
                    ('body', models.TextField()),
                    ('headers', models.JSONField(db_default={}, default=dict)),
                    ('created_at', models.DateTimeField()),
                ],
                options={
                    'indexes': [models.Index(fields=['created_at'], name='idempotency_keys_by_age')],
                    'constraints': [models.UniqueConstraint(fields=('project', 'key'), name='one_answer_per_key')],
                },
            ),
            migrations.CreateModel(
                name='Image',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('name', models.CharField(editable=False, max_length=60, unique=True)),
                    ('title', models.CharField(max_length=100)),
                    ('width', models.PositiveIntegerField(editable=False)),
                    ('height', models.PositiveIntegerField(editable=False)),
                    ('size', models.PositiveIntegerField(editable=False)),
                    ('by', models.CharField(editable=False, max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['project', '-id'], name='images_of_project')],
                },
            ),
            migrations.CreateModel(
                name='Import',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
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
                    ('ahead', models.JSONField(blank=True, db_default={}, default=dict)),
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
                ],
                options={
                    'verbose_name': 'import',
                    'verbose_name_plural': 'imports',
                    'ordering': ['-id'],
                    'indexes': [models.Index(fields=['project', '-id'], name='import_of_project'), models.Index(condition=models.Q(('head_digest', ''), _negated=True), fields=['project', 'head_digest', '-id'], name='import_with_this_head'), models.Index(condition=models.Q(('state__in', ['checking', 'merging'])), fields=['state'], name='imports_under_way')],
                    'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('problem', ''), _negated=True), _connector='OR'), name='a_failed_import_says_why')],
                },
            ),
            migrations.CreateModel(
                name='InboxSecret',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('name', models.CharField(editable=False, max_length=12, unique=True)),
                    ('sealed', models.BinaryField()),
                    ('sealed_with', models.CharField(editable=False, max_length=8)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('ends_at', models.DateTimeField(editable=False, null=True)),
                ],
                options={
                    'verbose_name': 'inbox secret',
                    'verbose_name_plural': 'inbox secrets',
                    'constraints': [models.UniqueConstraint(condition=models.Q(('ends_at__isnull', True)), fields=('project',), name='one_inbox_secret_in_force')],
                },
            ),
            migrations.CreateModel(
                name='InboxText',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('content', models.JSONField()),
                    ('article', models.TextField(blank=True, db_default='')),
                    ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ],
                options={
                    'indexes': [models.Index(fields=['project', 'created_at'], name='inbox_text_by_time')],
                },
            ),
            migrations.CreateModel(
                name='Load',
                fields=[
                    ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='notifications.project')),
                    ('level', models.FloatField(validators=[django.core.validators.MinValueValidator(0.0), django.core.validators.MaxValueValidator(1.0)])),
                    ('safe_rate', models.FloatField()),
                    ('reported_at', models.DateTimeField()),
                ],
                options={
                    'constraints': [models.CheckConstraint(condition=models.Q(('level__gte', 0), ('level__lte', 1)), name='a_load_in_range'), models.CheckConstraint(condition=models.Q(('safe_rate__gt', 0)), name='a_safe_rate_sends')],
                },
            ),
            migrations.CreateModel(
                name='Retention',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('kind', models.CharField(max_length=20)),
                    ('days', models.PositiveIntegerField(null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(3650)])),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('project', 'kind'), name='one_retention_per_kind'), models.CheckConstraint(condition=models.Q(('days__isnull', True), ('days__gte', 1), _connector='OR'), name='a_retention_is_a_day_or_more')],
                },
            ),
            migrations.CreateModel(
                name='ServiceAccount',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='service_account', to='notifications.project')),
                    ('client_email', models.TextField()),
                    ('sealed', models.BinaryField()),
                    ('sealed_with', models.CharField(editable=False, help_text='Id of the sealing key.', max_length=8)),
                    ('stored_at', models.DateTimeField(auto_now=True)),
                ],
            ),
            migrations.CreateModel(
                name='Suppression',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('external_id', models.CharField(help_text="The app's own id of this person.", max_length=200)),
                    ('at', models.DateTimeField()),
                    ('reason', models.CharField(blank=True, max_length=200)),
                    ('by', models.CharField(help_text='user:NAME or key:PREFIX.', max_length=200)),
                ],
                options={
                    'verbose_name': 'suppression',
                    'verbose_name_plural': 'suppressions',
                    'indexes': [models.Index(fields=['project', '-id'], name='suppression_of_project'), models.Index(models.F('project'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('external_id'), name='text_pattern_ops'), name='suppression_id_prefix')],
                    'constraints': [models.UniqueConstraint(fields=('project', 'external_id'), name='one_suppression_per_external_id'), models.CheckConstraint(condition=models.Q(('external_id', ''), _negated=True), name='a_suppression_has_an_id')],
                },
            ),
            migrations.CreateModel(
                name='Call',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('endpoint', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='calls', to='notifications.endpoint')),
                    ('name', models.CharField(max_length=60, unique=True)),
                    ('events', models.JSONField()),
                    ('state', models.CharField(choices=[('waiting', 'Waiting'), ('accepted', 'Accepted'), ('failed', 'Failed')], default='waiting', max_length=8)),
                    ('is_test', models.BooleanField(default=False)),
                    ('made_at', models.DateTimeField()),
                    ('next_at', models.DateTimeField()),
                    ('gives_up_at', models.DateTimeField()),
                    ('tries', models.PositiveIntegerField(default=0)),
                    ('tried_at', models.DateTimeField(null=True)),
                    ('took_ms', models.PositiveIntegerField(null=True)),
                    ('status', models.PositiveIntegerField(null=True)),
                    ('answer', models.TextField(blank=True)),
                    ('error', models.CharField(blank=True, choices=[('timeout', 'No answer in time'), ('unreachable', 'Could not be connected to'), ('no_name', 'Its name was not found'), ('tls', 'No trusted TLS connection'), ('broken', 'The connection broke'), ('forbidden', 'Its address is not a public one'), ('no_key', 'Its secret could not be opened'), ('no_email', 'E-mail is not set up'), ('refused', 'The mail server refused it')], max_length=11)),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['endpoint', 'next_at'], name='waiting_calls'), models.Index(fields=['endpoint', '-id'], name='calls_of_endpoint'), models.Index(condition=models.Q(('state', 'failed')), fields=['endpoint', '-id'], name='failed_calls'), django.contrib.postgres.indexes.GinIndex(models.Func(models.F('events'), models.Value('$[*].data.contact'), function='jsonb_path_query_array'), name='calls_about_people')],
                },
            ),
            migrations.CreateModel(
                name='ConsentChange',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('contact', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='consent_changes', to='notifications.contact')),
                    ('category', models.CharField(blank=True, max_length=50)),
                    ('wanted', models.BooleanField()),
                    ('at', models.DateTimeField()),
                    ('source', models.CharField(max_length=20)),
                    ('by', models.CharField(max_length=200)),
                ],
                options={
                    'indexes': [models.Index(fields=['contact', '-id'], name='consent_history'), models.Index(condition=models.Q(('category', ''), ('wanted', False)), fields=['project', 'at'], name='opt_outs_by_day')],
                },
            ),
            migrations.CreateModel(
                name='Device',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('contact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='devices', to='notifications.contact')),
                    ('kind', models.CharField(choices=[('token', 'Registration token'), ('fid', 'Firebase installation ID')], default='token', max_length=5)),
                    ('address', models.CharField(max_length=2048, validators=[notifications.people.device.validate_address])),
                    ('platform', models.CharField(choices=[('android', 'Android'), ('ios', 'iOS'), ('web', 'Web')], max_length=7)),
                    ('app_version', models.CharField(blank=True, max_length=50)),
                    ('registered_at', models.DateTimeField(help_text='When the app last registered this address.')),
                    ('registered_from', models.CharField(blank=True, choices=[('app', 'App'), ('api', 'API'), ('import', 'Import'), ('page', 'by hand')], db_default='', default='', editable=False, max_length=6)),
                    ('last_seen_at', models.DateTimeField()),
                    ('retired_at', models.DateTimeField(blank=True, null=True)),
                    ('retired_reason', models.CharField(blank=True, max_length=50)),
                    ('retired_by', models.CharField(blank=True, max_length=50)),
                ],
                options={
                    'indexes': [models.Index(condition=models.Q(('retired_at__isnull', True)), fields=['project', 'contact'], name='active_devices_of_contact'), models.Index(fields=['project', 'id'], name='devices_of_project'), models.Index(models.F('project'), django.db.models.functions.text.Left('address', 22), condition=models.Q(('retired_at__isnull', True)), name='devices_of_installation'), models.Index(models.F('project'), django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Reverse(django.db.models.functions.text.Right('address', 24)), name='text_pattern_ops'), name='device_address_tail'), models.Index(condition=models.Q(('retired_by', ''), _negated=True), fields=['retired_by'], name='devices_retired_by'), models.Index(condition=models.Q(('retired_by', ''), _negated=True), fields=['project', 'retired_at'], name='dead_devices_by_day')],
                    'constraints': [models.UniqueConstraint(fields=('project', 'kind', 'address'), name='one_device_per_address'), models.CheckConstraint(condition=models.Q(('address', ''), _negated=True), name='a_device_has_an_address'), models.CheckConstraint(condition=models.Q(('kind__in', ['token', 'fid'])), name='an_address_is_a_token_or_a_fid'), models.CheckConstraint(condition=models.Q(('platform__in', ['android', 'ios', 'web'])), name='a_platform_we_know'), models.CheckConstraint(condition=models.Q(models.Q(('retired_at__isnull', True), ('retired_reason', '')), models.Q(('retired_at__isnull', False), models.Q(('retired_reason', ''), _negated=True)), _connector='OR'), name='a_retired_device_has_a_reason')],
                },
            ),
            migrations.CreateModel(
                name='ImportBatch',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='batches', to='notifications.import')),
                    ('number', models.IntegerField()),
                    ('contact_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('owner', 'number'), name='an_import_batch_merged_once')],
                },
            ),
            migrations.CreateModel(
                name='ImportPart',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='notifications.import')),
                    ('number', models.IntegerField()),
                    ('content', models.BinaryField()),
                    ('size', models.IntegerField()),
                    ('digest', models.CharField(max_length=64)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('owner', 'number'), name='one_import_part_per_number'), models.CheckConstraint(condition=models.Q(('number__gte', 0)), name='import_parts_count_from_0')],
                },
            ),
            migrations.CreateModel(
                name='ImportRefusal',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refusals', to='notifications.import')),
                    ('line', models.BigIntegerField()),
                    ('column', models.CharField(blank=True, max_length=200)),
                    ('reason', models.CharField(max_length=500)),
                    ('cells', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                    ('file', models.CharField(blank=True, max_length=200)),
                ],
                options={
                    'indexes': [models.Index(fields=['owner', 'id'], name='refused_rows_of_import')],
                },
            ),
            migrations.CreateModel(
                name='InboxItem',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('project', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
                    ('contact', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='notifications.contact')),
                    ('text', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.inboxtext')),
                    ('category', models.CharField(blank=True, db_default='', max_length=50)),
                    ('collapse', models.CharField(blank=True, db_default='', max_length=64)),
                    ('reference', models.CharField(max_length=60)),
                    ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                    ('expires_at', models.DateTimeField(null=True)),
                    ('seen_at', models.DateTimeField(null=True)),
                    ('read_at', models.DateTimeField(null=True)),
                    ('archived_at', models.DateTimeField(null=True)),
                ],
                options={
                    'indexes': [models.Index(fields=['contact', 'id'], name='inbox_of_person'), models.Index(condition=models.Q(('archived_at__isnull', True), ('read_at__isnull', True)), fields=['contact', 'id'], include=('seen_at', 'expires_at'), name='inbox_unread'), models.Index(condition=models.Q(('archived_at__isnull', True), ('read_at__isnull', True), models.Q(('collapse', ''), _negated=True)), fields=['contact', 'collapse'], include=('seen_at', 'expires_at'), name='inbox_unread_together'), models.Index(fields=['project', 'created_at'], name='inbox_by_time'), models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='inbox_expiring')],
                    'constraints': [models.UniqueConstraint(fields=('contact', 'reference'), name='one_inbox_item_per_reference'), models.CheckConstraint(condition=models.Q(('read_at__isnull', True), ('seen_at__isnull', False), _connector='OR'), name='an_item_that_is_read_was_seen')],
                },
            ),
            migrations.CreateModel(
                name='Outgoing',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('endpoint', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='outbox', to='notifications.endpoint')),
                    ('key', models.UUIDField(db_default=django.contrib.postgres.functions.RandomUUID())),
                    ('events', models.JSONField()),
                    ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ],
            ),
        ]),
        # Written every ten seconds and worth nothing after a minute: it needs no write-ahead log.
        migrations.RunSQL("ALTER TABLE notifications_online SET UNLOGGED", migrations.RunSQL.noop),
        # Parts of an uploaded file are compressed or not worth compressing.
        migrations.RunSQL(
            "ALTER TABLE notifications_importpart ALTER COLUMN content SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
        # PostgreSQL deletes a person's history with the person, whichever code deletes the person.
        migrations.RunSQL(
            "ALTER TABLE notifications_consentchange ADD CONSTRAINT consent_of_a_contact"
            " FOREIGN KEY (contact_id) REFERENCES notifications_contact (id) ON DELETE CASCADE"
            " DEFERRABLE INITIALLY DEFERRED",
            migrations.RunSQL.noop,
        ),
        run_file("notifications/people/consent/change.sql"),
        run_file("notifications/people/events/event.sql"),
        run_file("notifications/inbox/item.sql"),
        run_file("notifications/staff/audit.sql"),
    ]

