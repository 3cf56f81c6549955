"""The Celery application. A task may run twice, late or never: the rows in PostgreSQL decide."""

from __future__ import annotations

import gc
import logging
import os
from typing import Any

from celery import Celery, Task
from celery.signals import (
    beat_init,
    celeryd_after_setup,
    task_prerun,
    worker_before_create_process,
    worker_init,
    worker_process_init,
)

from config.workers import process_reports as process_reports
from config.workers import task_headers as task_headers
from config.workers.broker import patch_kombu
from config.workers.without_banners import quiet

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Django's checks inspect code, and `migrate` runs them before every start. Here they would load all
# pages and the API: a third of a worker's start time, and a fifth of its memory.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

SENDING = {"bulk", "urgent"}  # the queues whose workers send messages

logger = logging.getLogger(__name__)
app = Celery("carillon")
app.config_from_object("config.workers.celery_settings")
app.autodiscover_tasks(["campaigns", "notifications"])
patch_kombu()
if os.environ.get("LOG_FORMAT") == "json":
    quiet(app)


@worker_init.connect
@beat_init.connect
def start_only_when_safe(**signal: Any) -> None:
    try:
        from config.startup import refuse_to_start_in_trouble  # it needs the settings

        refuse_to_start_in_trouble()
    except Exception as error:  # Celery logs any error but SystemExit, and goes on
        raise SystemExit(f"carillon: the start cannot be checked: {error}") from error


@beat_init.connect
def tick_at_once(sender: Any, **signal: Any) -> None:
    """Run `sweep` at once: a new schedule begins with a wait, and `/readyz` would wait with it."""
    sender.scheduler.apply_entry(sender.scheduler.schedule["sweep"])


@celeryd_after_setup.connect
def say_which_way_messages_take(instance: Any, **signal: Any) -> None:
    """Log the transport to FCM, once for each worker, before its processes start."""
    from django.conf import settings  # the code below needs the settings

    from notifications.fcm.transport.selection import choose_transport

    if SENDING & set(instance.app.amqp.queues.consume_from):
        way = choose_transport(settings.FCM_ENDPOINT)
        level = logging.WARNING if way.passes_proxy_by else logging.INFO
        logger.log(level, "Messages go to FCM over %s.", way)


@task_prerun.connect
def keep_the_connection_while_it_works(sender: Task[Any, Any], **signal: Any) -> None:
    """Close a database connection that is too old or broken, as Django does before a request.

    Celery alone would close it after each task, and a new one costs as much as fifty messages.
    """
    from django.db import close_old_connections  # it needs the settings

    if not sender.request.is_eager:  # an eager task runs inside its caller's transaction
        close_old_connections()


@worker_before_create_process.connect
def share_memory_with_children(**signal: Any) -> None:
    """Freeze all objects before the fork, so that children keep sharing their memory.

    A child shares its parent's memory until one of them writes to it, and garbage collection writes
    to every object. It skips frozen ones: 13 MB of a child are its own instead of 60.
    """
    gc.collect()
    gc.freeze()


@worker_process_init.connect
def look_for_garbage_less_often(**signal: Any) -> None:
    """Raise the thresholds of garbage collection, which was a third of a message's cost.

    Python's default collects after every 700 new objects, ten of which make a request.
    """
    gc.set_threshold(50_000, 20, 100)
