"""The Celery application: a doorbell that may ring twice, late or never. Rows decide."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("carillon")
app.config_from_object("config.celery_settings")
app.autodiscover_tasks(["campaigns"])


@worker_init.connect
@beat_init.connect
def start_only_when_safe(**signal: Any) -> None:
    from config.startup import refuse_to_start_in_trouble  # it needs the settings

    refuse_to_start_in_trouble()
