"""Trying: chooses the recipient whose request finds out whether FCM works again after a failure.

Each failed try may have rung the phone, and each recipient has only a few. So people who were never
tried come first, wherever in the run they wait. A recipient's last request is not spent while
others have more left.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    Case,
    Count,
    F,
    IntegerField,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.utils import timezone

from campaigns.runs.chunk import SETTLED, Chunk
from campaigns.runs.ledger import MAX_COPIES, Retry, Window, copies
from campaigns.runs.run import Run
from campaigns.sending.unsettled import UnsettledRecipient

RARELY = timedelta(minutes=1)
SOON = 2 * RARELY  # within this time, another chunk that could try has its turn
COPIES_OF_RETRY = RawSQL(copies(), [], output_field=IntegerField())
OPEN = (Chunk.State.WAITING, Chunk.State.QUEUED, Chunk.State.LEASED)


def choose_recipient(left: Iterable[UnsettledRecipient]) -> UnsettledRecipient:
    return min(left, key=lambda recipient: (recipient.copies, recipient.tries))


def freshest_first(chunks: QuerySet[Chunk], due_by: datetime) -> QuerySet[Any]:
    """Order chunks by the requests spent on their recipient with the fewest."""
    retries = Retry.objects.filter(chunk=OuterRef("pk")).order_by().values("chunk")
    tried = Subquery(retries.annotate(count=Count("seq")).values("count"))
    due_retries = retries.filter(not_before__lte=due_by)
    fewest = Subquery(due_retries.annotate(fewest=Min(COPIES_OF_RETRY)).values("fewest"))
    never_tried = F("last_seq") - F("first_seq") + 1 - SETTLED - Coalesce(tried, 0)
    return chunks.annotate(
        never_tried=never_tried,
        spent=Case(When(never_tried__gt=0, then=0), default=Coalesce(fewest, MAX_COPIES)),
    ).order_by("spent", "number")


def is_last_request(chosen: UnsettledRecipient, run: Run) -> bool:
    """Whether this is the person's last request while others may try instead, or just tried."""
    if chosen.copies < MAX_COPIES - 1:
        return False
    just_now = timezone.now() - RARELY
    return _others_may_try(run) or Window.objects.filter(run=run, opened_at__gt=just_now).exists()


def _others_may_try(run: Run) -> bool:
    """Whether another recipient of the project may try. Runs with held platforms do not count:
    their people look free, and are not."""
    soon = timezone.now() + SOON
    chunks = Chunk.objects.filter(
        Q(not_before=None) | Q(not_before__lte=soon),
        run__project=run.project_id,
        run__state=Run.State.SENDING,
        run__held_platforms=[],
        state__in=OPEN,
    )
    return freshest_first(chunks, soon).filter(spent__lt=MAX_COPIES - 1).exists()
