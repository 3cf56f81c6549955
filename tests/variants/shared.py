"""Campaigns with variants, and who of their runs read what."""

from __future__ import annotations

from collections import Counter
from typing import Any

from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_template
from tests.servers.fcm import Fcm

TITLES = {0: "Text A", 1: "Text B", 2: "Text C", 3: "Text D", 4: "Text E"}
CONTROL, HOLDOUT = -1, -2


def make_split(project: Project, weights: tuple[int, ...] = (50, 50), **values: Any) -> Campaign:
    """As many texts as weights: “Text A”, “Text B” …"""
    campaign = make_campaign(
        project, template={"title": TITLES[0], "body": "x"}, weight=weights[0], **values
    )
    others = [
        (make_template(project, title=TITLES[number], body="x"), weight)
        for number, weight in enumerate(weights[1:], start=1)
    ]
    campaign_variants.choose(campaign, others)
    return campaign


def groups(run: Run) -> dict[int, int | None]:
    """The group of each recipient, by device."""
    rows = Recipient.objects.filter(run_id=run.pk)
    return dict(rows.values_list("device_id", "variant"))


def counts(run: Run) -> dict[int | None, int]:
    return dict(Counter(groups(run).values()))


def outcomes(run: Run) -> dict[tuple[int | None, str, str], int]:
    """How many of each group ended how, and why."""
    group = dict(Recipient.objects.filter(run_id=run.pk).values_list("seq", "variant"))
    rows = Delivery.objects.filter(run_id=run.pk).values_list("seq", "status", "reason")
    return dict(Counter((group[seq], status, reason) for seq, status, reason in rows))


def titles_read(fcm: Fcm, run: Run) -> dict[int, list[str]]:
    """What left for each recipient, by number."""
    found: dict[int, list[str]] = {}
    for record in fcm.witness():
        run_id, _, seq = str(record["id"]).partition(":")
        if int(run_id) == run.pk:
            found.setdefault(int(seq), []).append(record["title"])
    return found


def groups_by_seq(run: Run) -> dict[int, int]:
    split = Recipient.objects.filter(run_id=run.pk, variant__isnull=False)
    return {seq: group for seq, group in split.values_list("seq", "variant") if group is not None}
