"""Health: is it alive, is it ready, and how is it doing? `config/health/probes.py` serves it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext
from prometheus_client import CollectorRegistry, generate_latest

from campaigns.runs.tick import Tick
from config.boot.prerequisites import missing_databases, old_postgresql
from config.health.metrics import Metrics
from notifications.measures import exposition

log = logging.getLogger(__name__)

STALE_TICK_SECONDS = 60
EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"  # Prometheus' own format


@dataclass(frozen=True)
class Finding:
    """The state of one part: whether it is well, with a text for anybody, and one for operators."""

    well: bool
    words: str
    more: str = ""
    since: str = ""  # when it reported last

    @property
    def explained(self) -> str:
        return self.more or self.words


WELL = Finding(True, "ok")


def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that this process runs.

    It ignores other servers, because a restart of this process would not heal them.
    """
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


def readyz(request: HttpRequest) -> JsonResponse:
    """Whether everything that a campaign needs is there, each part in words.

    Strangers read it. So a server's address, our user name there and its driver's error go to the
    log only.
    """
    results = findings()
    for part, finding in results.items():
        if not finding.well:
            log.warning("not ready: %s: %s", part, finding.explained)
    ready = all(finding.well for finding in results.values())
    texts = {part: finding.words for part, finding in results.items()}
    return JsonResponse({"ready": ready, **texts}, status=200 if ready else 503)


def findings() -> dict[str, Finding]:
    """The state of each part."""
    checks = {"postgresql": _postgresql, "redis": _redis, "beat": _beat}
    return {name: _run_check(check) for name, check in checks.items()}


def metrics(request: HttpRequest) -> HttpResponse:
    registry = CollectorRegistry()
    registry.register(Metrics(now=timezone.now()))
    exposition.register(registry)
    return HttpResponse(generate_latest(registry), content_type=EXPOSITION)


def _run_check(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except (DatabaseError, redis.RedisError) as error:
        reason = str(error).splitlines()[0] if str(error) else gettext("no answer")
        return Finding(False, gettext("no answer"), f"{type(error).__name__}: {reason}")


def _postgresql() -> Finding:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('transaction_read_only'),"
            " current_setting('server_version_num')::integer"
        )
        read_only, version = cursor.fetchone()
    if read_only == "on":
        return Finding(False, "read-only", "read-only: what cannot be recorded is not sent")
    trouble = old_postgresql(version)
    return Finding(False, "too old", trouble) if trouble else WELL


def _redis() -> Finding:
    trouble = missing_databases(settings.REDIS_DATABASES)
    return Finding(False, "lacks a database", trouble) if trouble else WELL


def _beat() -> Finding:
    age = Tick.age(timezone.now())
    if age is None:
        return Finding(False, gettext("no tick yet; are beat and the control worker running?"))
    seconds = int(age.total_seconds())
    well = seconds <= STALE_TICK_SECONDS
    since = gettext("last tick %(seconds)s s ago") % {"seconds": seconds}
    return Finding(well, f"{'ok' if well else 'stale'}, {since}", since=since)
