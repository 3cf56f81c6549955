"""In the product's own environment: freeze a campaign's audience, read who had it, freeze it again
for those who have not, then forget who was in it.
"""

from __future__ import annotations

import json
import os
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection, transaction
from django.utils import timezone

from campaigns import control
from campaigns.audiences import reach
from campaigns.engine import forgetting, freezing
from campaigns.planning.campaign import Campaign
from campaigns.runs import prior_recipients
from campaigns.runs.prior_recipients import PriorRecipient
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run

TABLES = ("campaigns_recipient", "campaigns_delivery")
# As a finished run of that size leaves them.
WINDOWS = """
INSERT INTO campaigns_window (run_id, chunk_id, attempt, seqs, opened_at, settled_at)
SELECT run_id, id, 1, ARRAY(SELECT generate_series(at, least(at + 199, last_seq))), now(), now()
FROM campaigns_chunk, generate_series(first_seq, last_seq, 200) at WHERE run_id = %s
"""
DELIVERIES = """
INSERT INTO campaigns_delivery_run_{run}
    (run_id, seq, device_id, status, reason, detail, message_id, attempt, resent, at)
SELECT run_id, seq, device_id, 'accepted', '', '', 'projects/p/messages/0:' || seq, 1, FALSE, now()
FROM campaigns_recipient_run_{run}
"""


def main(campaign_id: int) -> None:
    campaign = Campaign.objects.get(pk=campaign_id)
    started = time.monotonic()
    reach.count(campaign.project_id, campaign.audience.effective_rules)
    exact = time.monotonic() - started
    run, seconds = prepare(campaign)
    as_if_finished(run)
    sizes = {f"{table.rpartition('_')[2]}_bytes": _bytes(table, run) for table in TABLES}
    read, again = remember(campaign, run)
    started = time.monotonic()
    forgetting.forget(run, by="bench", now=timezone.now())
    drop = time.monotonic() - started
    told = {"prepare_seconds": seconds, "exact_seconds": exact, "drop_seconds": drop}
    told |= {"read_seconds": read, "again_seconds": again}
    print(json.dumps({"planned": run.planned, **told, **sizes}))


def prepare(campaign: Campaign) -> tuple[Run, float]:
    started = time.monotonic()
    with transaction.atomic():
        run = control.launch(campaign, by="bench", now=timezone.now())
        while run.state == Run.State.PREPARING or run.freezing:
            freezing.freeze_next(run.pk, now=timezone.now())
            run.refresh_from_db()
        run.pause(Cause.BY_HAND, "Only planned.")
    return run, time.monotonic() - started


def remember(campaign: Campaign, run: Run) -> tuple[float, float]:
    """Who had it is read; then a launch to those who have not finds nobody. No worker sees it."""
    with transaction.atomic():
        Campaign.objects.filter(pk=campaign.pk).update(once_each=True)
        started = time.monotonic()
        while prior_recipients.runs_to_index_with(run.pk).exists():
            prior_recipients.index_next(run.pk)
        read = time.monotonic() - started
        again = campaign.duplicate()
        PriorRecipient.objects.update(campaign_id=again.pk)
        nobody, seconds = prepare(again)
        assert not nobody.planned
        transaction.set_rollback(True)
    return read, seconds


def as_if_finished(run: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute(DELIVERIES.format(run=run.pk))
        cursor.execute(WINDOWS, [run.pk])
    Run.objects.filter(pk=run.pk).update(finished_at=timezone.now())


def _bytes(table: str, run: Run) -> float:
    """Of one recipient, indexes included."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size(%s)", [f"{table}_run_{run.pk}"])
        return float(cursor.fetchone()[0] / max(1, run.planned or 0))


if __name__ == "__main__":
    main(int(sys.argv[1]))
