from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0010_count_what_may_have_arrived'),
    ]

    operations = [
        migrations.AddField(
            model_name='audience',
            name='rules_before',
            field=models.JSONField(editable=False, help_text='What the rules said before an upgrade rewrote them, until somebody saves.', null=True),
        ),
    ]
