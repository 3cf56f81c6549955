import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0040_find_testers'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='own_hosts',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), blank=True, db_default=[], default=list, help_text='Hosts of your own, such as shop.example.com or *.example.com, with commas between them. A text check tries links and images of these only, if somebody asks for it.', size=None),
        ),
    ]
