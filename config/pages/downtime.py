"""The downtime notice: what is down, what that means for a run, and what to do.

The page loads it afterwards, because a worker that does not answer is waited for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import redis
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError

from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from config import celery
from config.health import health
from config.workers.celery_settings import QUEUES
from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.polling import COMING_BACK

ANSWER_WITHIN = 1.0  # seconds a worker has to say which queues it takes from
AGAIN = "every 30s"
UNDER_WAY = (Run.State.PREPARING, Run.State.SENDING)


@dataclass(frozen=True)
class Trouble:
    what: str
    meaning: str
    remedy: str


def urls() -> list[URLPattern]:
    return [path("downtime/", admin.site.admin_view(downtime), name="downtime")]


def downtime(request: HttpRequest) -> HttpResponse:
    """The notice.

    It refreshes while something is sent; else when the person comes back to the page.
    """
    of_run = "run" in request.GET
    # The overview itself shows for how long the scheduler is silent, if it ever ran.
    with_scheduler = of_run or Tick.age(timezone.now()) is None
    runs = Run.objects.filter(
        project=current_project(request), state__in=UNDER_WAY, finished_at=None
    )
    context = {
        "troubles": list(troubles(with_scheduler=with_scheduler)),
        "trigger": AGAIN if runs.exists() else COMING_BACK,
        "of_run": of_run,
    }
    return render(request, "admin/downtime.html", context)


def troubles(*, with_scheduler: bool) -> Iterator[Trouble]:
    findings = health.findings()
    if not findings["redis"].well:
        yield Trouble(
            _("Redis does not answer."),
            _("Nothing is sent until then, and nothing is lost: the waiting recipients are "
            "in the database, and runs continue by themselves when Redis is back."),
            _("Ask an operator to start Redis."),
        )  # fmt: skip
        return  # workers are asked through Redis, and the scheduler is silent without it
    served = _queues_served()
    yield from _without_worker(served)
    # Without a worker for “control” no tick is recorded, even if beat sends it.
    if with_scheduler and "control" in served and not findings["beat"].well:
        yield Trouble(
            _("The scheduler is silent."),
            _("Nothing that is planned starts, and work that a worker dropped is not picked up."),
            _("Ask an operator to start the process “beat” and a worker for the queue “control”."),
        )


def _without_worker(served: set[str]) -> Iterator[Trouble]:
    if not served & {"bulk", "control"}:
        yield Trouble(
            _("No worker is running."),
            _("Runs wait, and none starts or ends. Nothing is lost; they go on by themselves."),
            _("Ask an operator to start the workers."),
        )  # fmt: skip
        return
    if "bulk" not in served:
        yield Trouble(
            _("No worker is sending."),
            _("Runs wait where they are. Nothing is lost, and they go on by themselves."),
            _("Ask an operator to start a worker for the queue “bulk”."),
        )
    if "control" not in served:
        yield Trouble(
            _("No worker manages the runs."),
            _(
                "Runs neither start nor end until one runs; what is already being sent is "
                "completed."
            ),
            _("Ask an operator to start a worker for the queue “control”."),
        )


def _queues_served() -> set[str]:
    """Our queues that some worker takes from; all of them when no worker could be asked."""
    try:
        with celery.app.connection_for_write(settings.BROKER_URL) as broker:
            inspect = celery.app.control.inspect(timeout=ANSWER_WITHIN, connection=broker)
            replies = inspect.active_queues() or {}
    except (OperationalError, redis.RedisError, OSError):
        return set(QUEUES)
    return {queue["name"] for queues in replies.values() for queue in queues} & set(QUEUES)
