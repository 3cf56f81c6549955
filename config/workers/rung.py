"""What a doorbell carries besides its ids: whose request rang it, for the log and the trail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celery import Task
from celery.signals import before_task_publish, task_postrun, task_prerun

from notifications.requests import at_work, request_id

REQUEST = "carillon_request"  # the header
NAMES = {"run_id": "run", "number": "chunk", "wave": "wave", "audience_id": "list"}


@before_task_publish.connect
def say_whose(headers: dict[str, Any], **signal: Any) -> None:
    if name := request_id.current():
        headers[REQUEST] = name


@task_prerun.connect
def begin(task_id: str, task: Task[Any, Any], kwargs: Mapping[str, Any], **signal: Any) -> None:
    """Whoever made the message by hand has no say in what else is logged."""
    if task.request.is_eager:
        return
    request_id.carry_on(str(task.request.get(REQUEST, "")))
    ids = {NAMES[name]: value for name, value in kwargs.items() if name in NAMES}
    at_work.is_at(task=task.name, task_id=task_id, **ids)


@task_postrun.connect
def end(task: Task[Any, Any], **signal: Any) -> None:
    if not task.request.is_eager:
        request_id.carry_on("")
        at_work.is_at()
