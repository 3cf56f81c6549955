"""The Celery application: a doorbell that may ring twice, late or never. Rows decide."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("carillon")
app.config_from_object("config.celery_settings")
app.autodiscover_tasks(["campaigns"])
