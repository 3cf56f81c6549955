"""Headers of Celery tasks: the request that sent the task, and its trace.

A trace has to end, or that of a large campaign would hold its ten thousand windows. So some tasks
begin a new trace, with a link to the one before: those that a scheduled task sends, a wave's
callback, and a task that sends itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celery import Task, current_app
from celery.signals import (
    before_task_publish,
    task_postrun,
    task_prerun,
    worker_init,
    worker_process_shutdown,
)

from notifications.requests import log_context, request_id
from notifications.tracing import tracing

REQUEST = "carillon_request"  # the header
NAMES = {"run_id": "run", "number": "chunk", "wave": "wave", "audience_id": "list"}
NEW_TRACE_TASKS = {"campaigns.tasks.wave_done"}

_spans: dict[str, tracing.Span] = {}  # of tasks at work, by their id


@worker_init.connect
def prepare(**signal: Any) -> None:
    tracing.prepare()


@before_task_publish.connect
def add_headers(headers: dict[str, Any], **signal: Any) -> None:
    if name := request_id.current():
        headers[REQUEST] = name
    headers.update(tracing.carried(anew=_begins_a_trace(headers["task"])))


@task_prerun.connect
def begin(task_id: str, task: Task[Any, Any], kwargs: Mapping[str, Any], **signal: Any) -> None:
    """Begin the task's span. A message made by hand cannot change what else is logged."""
    request = task.request
    if request.is_eager:
        return
    request_id.set_current(str(request.get(REQUEST, "")))
    ids = {
        NAMES[name]: value
        for name, value in kwargs.items()
        if name in NAMES and isinstance(value, int)
    }
    log_context.set_context(task=task.name, task_id=task_id, **ids)
    carried = {name: request.get(name) for name in (tracing.PARENT, tracing.LINK)}
    name = task.name.rpartition(".")[2]
    _spans[task_id] = tracing.span(name, "consumer", carried=carried, task_id=task_id, **ids)
    _spans[task_id].__enter__()


@task_postrun.connect
def end(task_id: str, **signal: Any) -> None:
    if span := _spans.pop(task_id, None):
        span.__exit__(None, None, None)
        request_id.set_current("")
        log_context.set_context()


@worker_process_shutdown.connect
def flush(**signal: Any) -> None:
    tracing.flush()


def _begins_a_trace(task: str) -> bool:
    current_task = log_context.current_context().get("task")
    return task == current_task or task in NEW_TRACE_TASKS or current_task in _scheduled_tasks()


def _scheduled_tasks() -> set[str]:
    return {entry["task"] for entry in current_app.conf.beat_schedule.values()}
