from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0044_rehearsals'),
    ]

    operations = [
        migrations.AddField(
            model_name='template',
            name='buttons',
            field=models.JSONField(blank=True, db_default=[], default=list, help_text='Buttons, at most three, e.g. [{"id": "open", "title": "Open"}].'),
        ),
    ]
