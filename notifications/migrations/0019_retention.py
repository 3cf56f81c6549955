
import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0018_events'),
    ]

    operations = [
        migrations.CreateModel(
            name='Retention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('days', models.PositiveIntegerField(null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(3650)])),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='notifications.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'kind'), name='one_retention_per_kind'), models.CheckConstraint(condition=models.Q(('days__isnull', True), ('days__gte', 1), _connector='OR'), name='a_retention_is_a_day_or_more')],
            },
        ),
    ]
