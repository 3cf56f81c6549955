"""What F20–F25 must notice."""

from __future__ import annotations

from typing import Any

from tests.chaos.bug import bug, patch


@bug("ring without sweep", fault="F21")
def _ring_without_sweep() -> None:
    """Queued chunks whose doorbell was lost are never rung again."""
    from campaigns.engine import engine

    patch(engine, "_free_lost_chunks", lambda run, now: None)


@bug("leaves when Redis does", fault="F20")
def _leaves_when_redis_does() -> None:
    """A worker that loses its broker gives up."""
    from config.celery import app

    app.conf.broker_connection_retry = False
    app.conf.broker_connection_max_retries = 1


@bug("leaves when Redis is full", fault="F22")
def _leaves_when_redis_is_full() -> None:
    """A worker that Redis refuses gives up; some hang while they do."""
    from config.celery import app

    app.conf.broker_channel_error_retry = False


@bug("a launch needs its doorbell", fault="F22 F25")
def _a_launch_needs_its_doorbell() -> None:
    """Whoever launches hears of Redis' trouble, though the launch is recorded."""
    from notifications import task_queue

    patch(task_queue, "enqueue", lambda task, **ids: task.apply_async(kwargs=ids))


@bug("starts with any Redis", fault="F23")
def _starts_with_any_redis() -> None:
    """Nobody looks at the eviction policy."""
    from config import startup

    patch(startup, "_eviction", lambda: "")


@bug("patience without end", fault="F24")
def _patience_without_end() -> None:
    """A doorbell is waited for as long as Redis likes."""
    from config.celery import app

    options: dict[str, Any] = dict(app.conf.broker_transport_options)
    options |= {"socket_timeout": None, "socket_connect_timeout": None, "health_check_interval": 0}
    app.conf.broker_transport_options = options
