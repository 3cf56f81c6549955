import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0033_gather_messages'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='corrects',
            field=models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='corrections', to='campaigns.run'),
        ),
        migrations.AddField(
            model_name='run',
            name='corrects',
            field=models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='corrected_by', to='campaigns.run'),
        ),
    ]
