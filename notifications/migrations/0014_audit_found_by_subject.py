from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    # The trail may hold millions of entries, and every log-in writes one: nobody waits for an index.
    # One that was killed half-way leaves an invalid index under its name: away with it first.
    atomic = False

    dependencies = [
        ('notifications', '0013_audit_subjects'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS audit_of_a_row", migrations.RunSQL.noop),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS audit_of_a_text", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='auditentry',
            index=models.Index(condition=models.Q(('subject_id__isnull', False)), fields=['subject_kind', 'subject_id', '-id'], name='audit_of_a_row'),
        ),
        AddIndexConcurrently(
            model_name='auditentry',
            index=models.Index(condition=models.Q(('subject_kind', '')), fields=['subject', '-id'], name='audit_of_a_text'),
        ),
    ]
