"""Celery's settings, with the loss each one prevents."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from kombu import Queue

from config.boot.redis_address import tls_of
from config.workers.broker import PRIORITY_STEPS

broker_url = settings.BROKER_URL
broker_use_ssl = tls_of(broker_url) or False
result_backend = settings.RESULTS_URL

# --- What a crash may cost: one chunk starts again, and its claim in PostgreSQL makes that harmless
task_acks_late = True
task_reject_on_worker_lost = True
# Both sound helpful and both lost running work when Redis restarted.
worker_cancel_long_running_tasks_on_connection_loss = False
worker_deduplicate_successful_tasks = False

# --- The broker: redelivery well after the hard time limit, looked for every 10 s, not every 100 s
visibility_timeout = 600
broker_transport_options: dict[str, Any] = {
    "visibility_timeout": visibility_timeout,
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    "priority_steps": PRIORITY_STEPS,
    "socket_timeout": 30,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 25,
}
broker_connection_retry_on_startup = True
# A worker connects again after a full Redis refused it, as after an outage. Without this a worker
# ends, and some wait for ever for the task of a process that nobody listens to any more.
broker_channel_error_retry = True
broker_connection_max_retries = None  # the default gives up, and the worker exits, after 100 tries
broker_pool_acquire_timeout = 10  # the default waits for ever

# --- Results exist for the chord alone. A short outage must not make a done chunk a failure
task_ignore_result = True
result_expires = 3600
result_chord_expires = 86_400
result_backend_always_retry = True
result_backend_max_retries = 20
result_backend_max_sleep_between_retries_ms = 2000
redis_socket_timeout = 15
redis_socket_connect_timeout = 5
redis_socket_keepalive = True
redis_backend_health_check_interval = 25

# --- The worker
worker_consumer = "config.workers.consumer:TolerantConsumer"
worker_prefetch_multiplier = 1
worker_max_tasks_per_child = 1000
worker_max_memory_per_child = 500_000  # KiB
worker_proc_alive_timeout = 30
worker_hijack_root_logger = False
# The chunk's own budget comes first; the hard limit marks a chord failed and is only a backstop.
task_soft_time_limit = 150
task_time_limit = 180

# So Celery never closes the database connection: `config/celery.py` looks after it.
CELERY_DB_REUSE_MAX = 2**40

# --- The queues: a typo is an error, and direct exchanges survive an emptied Redis
QUEUES = ("urgent", "bulk", "control", "outgoing")
task_queues = [Queue(name, routing_key=name) for name in QUEUES]
task_default_queue = "control"
task_create_missing_queues = False
task_default_priority = 6
task_routes = {
    "campaigns.tasks.send_chunk": {"queue": "bulk"},
    "campaigns.tasks.send_messages": {"queue": "urgent"},
    "campaigns.tasks.send_test": {"queue": "urgent"},  # a person waits for it at a phone
    # Messages to thousands take their turn with campaigns.
    "campaigns.tasks.unfold_messages": {"queue": "bulk"},
    "campaigns.tasks.send_to_many": {"queue": "bulk"},
    # A minute for a run of millions.
    "campaigns.tasks.recount_echo": {"queue": "bulk"},
    "campaigns.tasks.decide_triggers": {"queue": "urgent"},
    # It works for 20 s at a time, and only one process moves the runs.
    "notifications.tasks.work_on_import": {"queue": "bulk"},
    "campaigns.tasks.check_texts": {"queue": "bulk"},
    "notifications.tasks.fetch_figures": {"queue": "bulk"},  # Google may take its time
    # It waits for other people's servers: no run may wait with it.
    "notifications.tasks.send_reports": {"queue": "outgoing"},
}

# --- Ids only, as JSON: what Flower and the broker show must name nobody
accept_content = ["json"]
result_accept_content = ["json"]
task_send_sent_event = True
worker_send_task_events = True

# --- Beat knows two ticks, which mean nothing by themselves: SQL decides, so two beats equal one.
enable_utc = True
timezone = "UTC"
# Beat writes its file at each tick: `manage.py healthy beat` looks how old it is.
beat_sync_every = 1
beat_schedule = {
    "sweep": {"task": "campaigns.tasks.sweep", "schedule": 5.0, "options": {"expires": 10}},
    # What has to be removed changes once a day; a pass that finds nothing takes milliseconds.
    "tidy": {"task": "campaigns.tasks.tidy", "schedule": 600.0, "options": {"expires": 300}},
}
