"""Asking: in whichever process sends, beside its work, one answer of a project's server at a time.

A thread asks and knows no database; whoever sends looks, at each look at its run, whether it has
the answer, and goes on at once if not. As long as anything is sent somebody looks, so nothing rings
and nothing has to be kept running: who dies is followed by the next one who sends.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from threading import Thread

from notifications.pacing import health
from notifications.pacing.level import Read
from notifications.people.project import Project
from notifications.postgres.outage import DATABASE_TROUBLE, at_once
from notifications.webhooks.transports.https_post import Answer

LOOK_EVERY = 0.25  # seconds; a look costs a statement
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asked:
    """Our asking that is under way."""

    at: datetime
    since: float  # by our own clock
    answer: Future[tuple[Answer, Read]]


_asked: dict[int, Asked] = {}  # by project
_looked: dict[int, float] = {}


def look(project: Project) -> None:
    """Take our answer if it has come, else ask if it is time. Whatever is wrong with it, whoever
    sends goes on: without an answer the rate stays."""
    try:
        _look(project)
    except DATABASE_TROUBLE as error:
        log.warning("how busy the servers of project=%s are was not written: %s", project, error)
    except Exception:
        log.exception("the servers of project=%s cannot be asked", project)


def _look(project: Project) -> None:
    now = time.monotonic()
    asked = _asked.get(project.pk)
    is_news = asked is not None and now - asked.since <= health.LOST.total_seconds()
    if asked and asked.answer.done():
        del _asked[project.pk]
        if is_news:  # else nobody was sending meanwhile: it says how busy they were then
            health.settle(project, asked.at, *asked.answer.result())
    elif is_news:
        return
    if now - _looked.get(project.pk, 0.0) < LOOK_EVERY:
        return
    _looked[project.pk] = now
    if at := at_once(lambda: health.claim(project.pk)):
        where = Project.objects.values_list("load_url", "load_number").get(pk=project.pk)
        _asked[project.pk] = Asked(at, now, _begin(*where))


def _begin(url: str, number: str) -> Future[tuple[Answer, Read]]:
    """A resolver may keep a thread for half a minute; nobody waits for it, nor at the end."""
    answer: Future[tuple[Answer, Read]] = Future()

    def ask() -> None:
        try:
            answer.set_result(health.ask(url, number))
        except Exception as error:  # ours
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()
    return answer
