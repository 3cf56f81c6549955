"""`python -m bench.planning.ended CAMPAIGN`: a run that has just ended, and phones have told of it.

Inside the stack's environment. Everybody was accepted, three in five have an app that reports. The
sums of their receipts are made as the nightly recount makes them that are missing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection
from django.db.models import F
from django.utils import timezone

from bench.planning.snapshot import as_if_finished, prepare
from campaigns.engagement import recounting
from campaigns.engagement.receipt import Event
from campaigns.engine import breakdowns
from campaigns.planning.campaign import Campaign
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run

# Of a hundred recipients, so many told that they received, saw and opened it.
TOLD = {Event.RECEIVED: 60, Event.DISPLAYED: 54, Event.OPENED: 6}
RECEIPTS = """
INSERT INTO campaigns_receipt (run_id, seq, event, at)
SELECT %(run)s, seq, %(event)s, %(began)s::timestamptz + seq %% 36000 * interval '0.1 second'
FROM generate_series(1, %(planned)s::int) seq WHERE seq * 37 %% 100 < %(told)s
"""


def main(campaign_id: int) -> None:
    run, _ = prepare(Campaign.objects.get(pk=campaign_id))
    as_if_finished(run)
    _end(run)
    counted = _timed(lambda: _count(run))
    _tell(run)
    recounted = _timed(lambda: recounting.recount(run, now=timezone.now()))
    wrong = recounting.recount(run, now=timezone.now())
    told = {"count_seconds": counted, "recount_seconds": recounted, "wrong_after_it": wrong}
    print(json.dumps({"run": run.pk, "planned": run.planned, **told}))


def _end(run: Run) -> None:
    now = timezone.now()
    size = F("last_seq") - F("first_seq") + 1
    Chunk.objects.filter(run=run).update(state=Chunk.State.CLOSED, accepted=size)
    Run.objects.filter(pk=run.pk).update(
        state=Run.State.FINISHED, cause="", accepted=F("planned"),
        unfrozen=None, started_at=now - timedelta(hours=1), finished_at=now,
    )  # fmt: skip
    run.refresh_from_db()


def _count(run: Run) -> None:
    """As the sweep does, a step at a time; its worker may take some of them."""
    while breakdowns.uncounted().filter(pk=run.pk).exists():
        breakdowns.count_next(run.pk)


def _tell(run: Run) -> None:
    with connection.cursor() as cursor:
        for event, told in TOLD.items():
            asked = {"run": run.pk, "planned": run.planned, "began": run.started_at}
            cursor.execute(RECEIPTS, {**asked, "event": event, "told": told})
        cursor.execute("ANALYZE campaigns_receipt")


def _timed(deed: Callable[[], object]) -> float:
    began = time.monotonic()
    deed()
    return time.monotonic() - began


if __name__ == "__main__":
    main(int(sys.argv[1]))
