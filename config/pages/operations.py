"""The operators' page: health, workers, queues, API keys, and what was repaired."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import redis
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import require_POST
from kombu.exceptions import OperationalError

from campaigns import tasks
from campaigns.engagement.recount import differences_lately
from campaigns.results.repairs import repairs
from campaigns.runs.run import Run
from config import celery
from config.health import health, metrics
from config.workers import process_reports
from notifications.admin.ui.current_project import filter_by_project
from notifications.admin.ui.page import actor
from notifications.fcm.transport.selection import TransportChoice, choose_transport
from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.api_key import ApiKey
from notifications.staff.subjects import Subject
from notifications.task_queue import NotEnqueued

A_DAY = timedelta(days=1)
ANSWER_WITHIN = 1.0  # seconds a worker has to say that it is there
SHOWN_KEYS = 8


def urls() -> list[URLPattern]:
    view = site.admin_view
    return [
        path("operations/", view(operations), name="operations"),
        path("operations/workers/", view(workers), name="operations_workers"),
        path("operations/sweep/", view(require_POST(sweep_now)), name="operations_sweep"),
    ]


def operations(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    keys = filter_by_project(request, ApiKey.objects.filter(revoked_at=None))
    projects = list(_projects())
    context = {
        **site.each_context(request),
        "title": _("Operations"),
        "health": list(_health()),
        "queues": _queues(),
        "repairs": repairs(filter_by_project(request, Run.every.all()), now),
        "echo_differences": differences_lately(now),
        "projects": [(project, _in_words(way)) for project, way in projects],
        "passed_by": next((way.proxy for _, way in projects if way.passes_proxy_by), None),
        "keys": keys.select_related("project")[:SHOWN_KEYS],
        "key_count": keys.count(),
        "now": now,
        "flower_url": settings.FLOWER_URL,
    }
    return TemplateResponse(request, "admin/operations.html", context)


def _health() -> Iterator[tuple[str, bool, str]]:
    """(part, whether it is well, in words)."""
    names = {"postgresql": "PostgreSQL", "redis": "Redis", "beat": _("Beat, the clock")}
    for part, finding in health.findings().items():
        text = (finding.since or _("answers")) if finding.well else finding.explained
        yield names[part], finding.well, text


def _projects() -> Iterator[tuple[Project, TransportChoice]]:
    """Each project with the transport that its messages use from this machine."""
    for project in Project.objects.select_related("service_account").order_by("name"):
        yield project, choose_transport(project.endpoint)


def _in_words(way: TransportChoice) -> str:
    if way.through:
        text = _("This machine sends with aiohttp, through the proxy %(proxy)s.")
        return text % {"proxy": way.through}
    if way.name == "aiohttp":
        return _("This machine sends with aiohttp, as TRANSPORT says.")
    if way.by_setting:
        return _("This machine sends over its own sockets, as TRANSPORT says.")
    return _("This machine sends over its own sockets.")


def _queues() -> dict[str, int] | None:
    """Waiting tasks per queue. None: Redis does not answer, and nobody knows."""
    try:
        return metrics.queue_depths()
    except redis.RedisError:
        return None


def workers(request: HttpRequest) -> HttpResponse:
    """The list of workers, loaded after the page: a worker that does not answer is waited for."""
    context = {"workers": _workers(), "unasked": _queues() is None}
    return render(request, "admin/operations_workers.html", context)


def _workers() -> list[dict[str, Any]]:
    """Workers that answer, and workers that note their state: an older one may only answer."""
    by_name = {worker["name"]: worker for worker in _answering()}
    with suppress(redis.RedisError):
        for process in process_reports.processes():
            worker = by_name.setdefault(process.worker, {"name": process.worker, "silent": True})
            worker.setdefault("noted", []).append(process)
    return [by_name[name] for name in sorted(by_name)]


def _answering() -> Iterator[dict[str, Any]]:
    if _queues() is None:
        return  # the client would try again and again, and the page would wait
    try:
        with celery.app.connection_for_write(settings.BROKER_URL) as broker:
            inspect = celery.app.control.inspect(timeout=ANSWER_WITHIN, connection=broker)
            stats = inspect.stats() or {}
            active = (inspect.active() or {}) if stats else {}
    except (OperationalError, redis.RedisError, OSError):
        return
    for name, worker_stats in sorted(stats.items()):
        yield {
            "name": name,
            "processes": len(worker_stats.get("pool", {}).get("processes", [])),
            "doing": len(active.get(name, [])),
            "done": sum(worker_stats.get("total", {}).values()),
            "since": timedelta(seconds=worker_stats.get("uptime", 0)),
        }


def sweep_now(request: HttpRequest) -> HttpResponse:
    """Run beat's tick by hand. It is harmless beside a running beat."""
    try:
        tasks.sweep()
    except NotEnqueued:
        messages.error(
            request, _("Redis cannot be reached: the runs were checked, but nothing was queued.")
        )
    else:
        audit.record(actor(request), gettext_noop("swept"), Subject("run"), project=None)
        messages.success(request, _("Every unfinished run is being checked now."))
    return HttpResponseRedirect(reverse("admin:operations"))
