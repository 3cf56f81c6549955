"""Keyless: decides whether a process that cannot decrypt a project's key leaves runs to others.

A machine with another CREDENTIALS_KEY, or without the new one yet, must not stop the runs that all
other machines are sending.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.utils import timezone

from campaigns.runs.ledger import Window
from campaigns.runs.run import Run
from notifications.gateway import BadCredentials, WrongKey

log = logging.getLogger(__name__)

AGAIN_SECONDS = 5
PATIENCE = timedelta(minutes=2)
# By run and epoch: after a person's resume, every process tries again.
_since: dict[tuple[int, int], datetime] = {}


def leave_to_others(run: Run, error: BadCredentials) -> bool:
    """Whether to let the run go on without this process."""
    if not isinstance(error, WrongKey) or not _others_may_send(run):
        return False
    log.error("run=%s is left to other workers. %s", run.pk, error)
    return True


def _others_may_send(run: Run) -> bool:
    """Whether other workers send this run, or had no time yet to show that they do."""
    now = timezone.now()
    since = _since.setdefault((run.pk, run.epoch), now)
    if Window.objects.filter(run=run, opened_at__gte=since).exists():
        _since[run.pk, run.epoch] = now
        return True
    return now - since < PATIENCE
