"""In the product's own environment: freeze a campaign's audience, then drop what was frozen.

Carillon has no door yet that removes old runs; the statements here are what one would say.
"""

from __future__ import annotations

import json
import os
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection, transaction  # noqa: E402
from django.utils import timezone  # noqa: E402

from campaigns import audience, control, engine  # noqa: E402
from campaigns.campaign import Campaign  # noqa: E402
from campaigns.reasons import Cause  # noqa: E402
from campaigns.run import Run  # noqa: E402

TABLES = ("campaigns_recipient", "campaigns_delivery")
# As a finished run of that size leaves them.
DELIVERIES = """
INSERT INTO campaigns_delivery_run_{run}
    (run_id, seq, device_id, status, reason, detail, message_id, attempt, resent, at)
SELECT run_id, seq, device_id, 'accepted', '', '', 'projects/p/messages/0:' || seq, 1, FALSE, now()
FROM campaigns_recipient_run_{run}
"""


def main(campaign_id: int) -> None:
    campaign = Campaign.objects.get(pk=campaign_id)
    started = time.monotonic()
    audience.count(campaign.project_id, campaign.audience.effective_rules)
    exact = time.monotonic() - started
    run, prepare = _prepare(campaign)
    with connection.cursor() as cursor:
        cursor.execute(DELIVERIES.format(run=run.pk))
    sizes = {f"{table.rpartition('_')[2]}_bytes": _bytes(table, run) for table in TABLES}
    started = time.monotonic()
    _drop(run)
    drop = time.monotonic() - started
    told = {"prepare_seconds": prepare, "exact_seconds": exact, "drop_seconds": drop}
    print(json.dumps({"planned": run.planned, **told, **sizes}))


def _prepare(campaign: Campaign) -> tuple[Run, float]:
    started = time.monotonic()
    with transaction.atomic():
        run = control.launch(campaign, by="bench", now=timezone.now())
        engine.prepare(run, now=timezone.now())
        run.pause(Cause.BY_HAND, "Only planned.")
    return run, time.monotonic() - started


def _bytes(table: str, run: Run) -> float:
    """Of one recipient, indexes included."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size(%s)", [f"{table}_run_{run.pk}"])
        return float(cursor.fetchone()[0] / max(1, run.planned or 0))


def _drop(run: Run) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"ALTER TABLE {table} DETACH PARTITION {table}_run_{run.pk}")
            cursor.execute(f"DROP TABLE {table}_run_{run.pk}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
