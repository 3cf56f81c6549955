from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    # There may be millions of calls, and more all day: nobody waits for an index. One that was
    # killed half-way leaves an invalid index under its name: away with it first.
    atomic = False

    dependencies = [
        ('notifications', '0037_figures'),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS calls_about_people", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='call',
            index=GinIndex(models.Func(models.F('events'), models.Value('$[*].data.contact'), function='jsonb_path_query_array'), name='calls_about_people'),
        ),
    ]
