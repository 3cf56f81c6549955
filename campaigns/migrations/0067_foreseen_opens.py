from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0066_paused_at'),
    ]

    operations = [
        migrations.AddField(
            model_name='foreseen',
            name='opens',
            field=models.JSONField(null=True),
        ),
    ]
