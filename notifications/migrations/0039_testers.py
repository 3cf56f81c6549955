from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0038_calls_about_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='contact',
            name='tester',
            field=models.BooleanField(db_default=False, default=False, help_text='Test sends to the testers go to them.'),
        ),
    ]
