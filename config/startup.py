"""Start-up checks: a setup that fails one would lose, double or stop work in silence later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import redis
from django.conf import settings
from django.db import DatabaseError, connection

from config.boot.prerequisites import missing_databases
from config.postgresql.version import too_old
from config.workers import celery_settings

Checks = tuple[Callable[[], str], ...]

MAX_SECONDS_APART = 5
LIMITS_WITHIN_VISIBILITY = 3
MAX_TRIED = 20  # service accounts that `wrong_key` tries


def find_problems(checks: Checks | None = None) -> Iterator[str]:
    """Yield each problem in one line, with its fix.

    A server that does not answer yet is no problem.
    """
    every = (*FOR_ALL, _stand_in, _eviction, _visibility, _late_acknowledgement, _clock, _locks)
    for check in checks or every:
        try:
            trouble = check()
        except (redis.RedisError, DatabaseError):
            continue
        if trouble:
            yield trouble


def _old_postgresql() -> str:
    return too_old(connection)


def _missing_databases() -> str:
    return missing_databases(settings.REDIS_DATABASES)


def _eviction() -> str:
    broker = redis.Redis.from_url(settings.BROKER_URL, socket_timeout=2, socket_connect_timeout=2)
    policy = broker.info("memory").get("maxmemory_policy", "noeviction")
    if policy == "noeviction":
        return ""
    return (
        f"Redis evicts keys ({policy}): a task would be lost with each. "
        "Set maxmemory-policy noeviction."
    )


def _visibility() -> str:
    least = LIMITS_WITHIN_VISIBILITY * celery_settings.task_time_limit
    if celery_settings.visibility_timeout >= least:
        return ""
    return (
        f"visibility_timeout is {celery_settings.visibility_timeout} s, and a chunk may take "
        f"{celery_settings.task_time_limit} s: it would be sent twice. Set at least {least}."
    )


def _late_acknowledgement() -> str:
    if celery_settings.task_acks_late and celery_settings.task_reject_on_worker_lost:
        return ""
    return (
        "A worker that dies would take its task with it. "
        "Set task_acks_late and task_reject_on_worker_lost."
    )


def _clock() -> str:
    asked_at = time.time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        (theirs,) = cursor.fetchone()
    answered_at = time.time()
    ahead = (asked_at + answered_at) / 2 - float(theirs)
    if abs(ahead) <= MAX_SECONDS_APART + (answered_at - asked_at):
        return ""
    word = "ahead of" if ahead > 0 else "behind"
    return (
        f"This machine's clock is {abs(ahead):,.0f} s {word} PostgreSQL's: runs would start at "
        "the wrong time. Let NTP set both."
    )


def _stand_in() -> str:
    """Find a project that uses a stand-in for FCM, on a machine that sends to Google.

    Production has no stand-in on any machine: there such a project only lacks its key. On all
    machines a new project has no key yet, and sends nothing.
    """
    from notifications.people.project import Project  # it needs the applications

    if settings.PRODUCTION or settings.FCM_ENDPOINT != settings.GOOGLE_FCM_ENDPOINT:
        return ""
    with_its_key = Project.objects.filter(uses_emulator=True, service_account__isnull=False)
    project = with_its_key.order_by("pk").first()
    if project is None:
        return ""
    return (
        f"The project {project.slug} sends to a stand-in for FCM, and this machine knows none: its "
        "messages would go to Google. Set FCM_ENDPOINT, FCM_TOKEN_URI and FCM_CA_FILE as on the "
        "first machine, or give the project its key from Google: manage.py "
        f"set_firebase_credentials --project {project.slug} FILE."
    )


def _locks() -> str:
    """Check `lock_timeout`: a pooler may drop what the settings ask of each connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout'), current_user")
        lock_timeout, role = cursor.fetchone()
    if lock_timeout != "0":
        return ""
    return (
        "PostgreSQL would wait for a lock for ever: a pooler in between drops lock_timeout. Once: "
        f"ALTER ROLE {role} SET lock_timeout = '2s'; "
        f"ALTER ROLE {role} SET idle_in_transaction_session_timeout = '30s'; "
        "and RECONNECT in the pooler."
    )


def wrong_key() -> str:
    """Report a CREDENTIALS_KEY that opens none of the stored service accounts.

    If only one account does not open, its key was lost: that is a problem of its project.
    """
    from notifications.keys import sealing  # it needs the applications
    from notifications.keys.credentials import ServiceAccount

    if settings.WITHOUT_KEYS:
        return ""
    accounts = list(ServiceAccount.objects.order_by("-stored_at")[:MAX_TRIED])
    if not accounts or any(account.opens() for account in accounts):
        return ""
    key_ids = ", ".join(sorted({account.sealed_with for account in accounts}))
    return (
        f"CREDENTIALS_KEY (id {sealing.key_id()}) opens none of the stored service accounts; they "
        f"are sealed with {key_ids}. Set the key the other machines have, or put that key behind "
        "yours, after a comma. If it is lost: manage.py set_firebase_credentials, once for each "
        "project."
    )


# The other checks are for processes that send. A web process is useful while it waits for Redis.
FOR_ALL: Checks = (_old_postgresql, _missing_databases, wrong_key)


def refuse_to_start_in_trouble(checks: Checks | None = None) -> None:
    problems = list(find_problems(checks))
    connection.close()  # the child processes must not share it
    if problems:
        raise SystemExit("\n".join(f"carillon: {trouble}" for trouble in problems))
