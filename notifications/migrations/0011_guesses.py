from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0010_request_id"),
    ]

    operations = [
        migrations.CreateModel(
            name="Guesses",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("wrong", models.IntegerField()),
                ("ends_at", models.DateTimeField(db_index=True)),
            ],
        ),
    ]
