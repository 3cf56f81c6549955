import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0042_images'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='holdout_percent',
            field=models.PositiveSmallIntegerField(blank=True, db_default=0, default=0, help_text='So many of the people, always the same ones, get nothing of what is sent to many: compare what they do with what the others do. Messages to single people, and what is transactional or critical, reach them. 0: nobody is held out.', validators=[django.core.validators.MaxValueValidator(50)], verbose_name='holdout, percent'),
        ),
    ]
