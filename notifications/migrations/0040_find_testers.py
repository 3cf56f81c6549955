from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    # There may be millions of people: nobody waits for an index. One that was killed half-way
    # leaves an invalid index under its name: away with it first.
    atomic = False

    dependencies = [
        ('notifications', '0039_testers'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS contact_testers", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='contact',
            index=models.Index(condition=models.Q(('tester', True)), fields=['project'], name='contact_testers'),
        ),
    ]
