"""Asking: processes that send also ask the project's own server how busy it is, one at a time.

A thread asks, and does not use the database. Whenever the sending process checks its run, it also
checks for the answer, and goes on at once if there is none. While messages are sent, a process
looks, so no timer or service is needed. If one dies, the next process that sends takes over.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from threading import Thread

from notifications.pacing import health
from notifications.pacing.load_level import Read
from notifications.people.project import Project
from notifications.postgres.outage import DATABASE_TROUBLE, try_once
from notifications.webhooks.transports.https_post import Answer

LOOK_EVERY = 0.25  # seconds; each look costs one SQL statement
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PendingPoll:
    """A question of this process that waits for its answer."""

    at: datetime
    since: float  # by this process's monotonic clock
    answer: Future[tuple[Answer, Read]]


_asked: dict[int, PendingPoll] = {}  # by project id
_looked: dict[int, float] = {}


def poll_backend(project: Project) -> None:
    """Take the answer if it has come, else ask if it is time. Errors never stop the sending:
    without an answer, the rate stays as it is."""
    try:
        _look(project)
    except DATABASE_TROUBLE as error:
        log.warning("how busy the servers of project=%s are was not written: %s", project, error)
    except Exception:
        log.exception("the servers of project=%s cannot be asked", project)


def _look(project: Project) -> None:
    now = time.monotonic()
    pending = _asked.get(project.pk)
    is_news = pending is not None and now - pending.since <= health.LOST.total_seconds()
    if pending and pending.answer.done():
        del _asked[project.pk]
        if is_news:  # else nothing was sent meanwhile, and the answer is out of date
            health.settle(project, pending.at, *pending.answer.result())
    elif is_news:
        return
    if now - _looked.get(project.pk, 0.0) < LOOK_EVERY:
        return
    _looked[project.pk] = now
    if at := try_once(lambda: health.claim(project.pk)):
        where = Project.objects.values_list("load_url", "load_number").get(pk=project.pk)
        _asked[project.pk] = PendingPoll(at, now, _begin(*where))


def _begin(url: str, number: str) -> Future[tuple[Answer, Read]]:
    """Ask in a daemon thread. A DNS lookup may take half a minute, and not even the end of the
    process waits for it."""
    answer: Future[tuple[Answer, Read]] = Future()

    def ask() -> None:
        try:
            answer.set_result(health.ask(url, number))
        except Exception as error:  # an error in our own code
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()
    return answer
