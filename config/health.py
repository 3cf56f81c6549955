"""Is it alive, is it ready, and how is it doing: what `config/probes.py` answers."""

from __future__ import annotations

from collections.abc import Callable

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext
from prometheus_client import CollectorRegistry, generate_latest

from campaigns.tick import Tick
from config.metrics import Metrics
from config.prerequisites import missing_databases, old_postgresql

STALE_TICK_SECONDS = 60


def healthz(request: HttpRequest) -> HttpResponse:
    """This process answers. Says nothing of its neighbours: restarting it would not heal them."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> JsonResponse:
    """Whether everything a campaign needs is there, each part in words."""
    found = findings()
    ready = all(answer.startswith("ok") for answer in found.values())
    return JsonResponse({"ready": ready, **found}, status=200 if ready else 503)


def findings() -> dict[str, str]:
    """Each part with what is the matter with it; “ok …” when nothing is."""
    checks = {"postgresql": _postgresql, "redis": _redis, "beat": _beat}
    return {name: _asked(check) for name, check in checks.items()}


def metrics(request: HttpRequest) -> HttpResponse:
    registry = CollectorRegistry()
    registry.register(Metrics(now=timezone.now()))
    return HttpResponse(generate_latest(registry), content_type="text/plain; version=0.0.4")


def _asked(check: Callable[[], str]) -> str:
    try:
        return check()
    except (DatabaseError, redis.RedisError) as error:
        said = str(error).splitlines()[0] if str(error) else gettext("no answer")
        return f"{type(error).__name__}: {said}"


def _postgresql() -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('transaction_read_only'),"
            " current_setting('server_version_num')::integer"
        )
        read_only, version = cursor.fetchone()
    if read_only == "on":
        return "read-only: what cannot be recorded is not sent"
    return old_postgresql(version) or "ok"


def _redis() -> str:
    return missing_databases(settings.REDIS_DATABASES) or "ok"


def _beat() -> str:
    age = Tick.age(timezone.now())
    if age is None:
        return gettext("no tick yet; are beat and the control worker running?")
    seconds = int(age.total_seconds())
    word = "ok" if seconds <= STALE_TICK_SECONDS else "stale"
    return gettext("%(word)s, last tick %(seconds)s s ago") % {"word": word, "seconds": seconds}
