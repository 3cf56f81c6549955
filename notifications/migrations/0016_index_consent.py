from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    # There may be millions of people, and apps write them all day: nobody waits for an index.
    # One that was killed half-way leaves an invalid index under its name: away with it first.
    atomic = False

    dependencies = [
        ('notifications', '0015_consent'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS contact_unsubscribed", migrations.RunSQL.noop),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS contact_with_choices", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='contact',
            index=models.Index(condition=models.Q(('subscribed', False)), fields=['project'], name='contact_unsubscribed'),
        ),
        AddIndexConcurrently(
            model_name='contact',
            index=models.Index(condition=models.Q(('preferences', {}), _negated=True), fields=['project'], name='contact_with_choices'),
        ),
    ]
