"""What the tests of inboxes do with a run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from campaigns import control
from campaigns.corrections.change_running_text import NewText
from campaigns.engine import engine
from campaigns.runs.ledger import Retry
from campaigns.runs.run import Run
from campaigns.sending.sending import send
from tests.given.forgetting import flush_gate


def send_once(run: Run) -> None:
    """Every chunk there is, once."""
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    for chunk in run.chunks.order_by("number"):
        send(run.pk, chunk.number, run.epoch)


def change_text(run: Run, title: str, **texts: Any) -> None:
    run.refresh_from_db()
    new = NewText(run.revision, {"title": title, **texts}, accept_skips=True)
    control.change_text(run, new=new, by="user:alice")


def try_again(run: Run) -> None:
    """Everybody who waits for another try, now."""
    Retry.objects.filter(run=run).update(not_before=timezone.now() - timedelta(hours=1))
    run.chunks.update(not_before=None)
    flush_gate()
    send_once(run)
