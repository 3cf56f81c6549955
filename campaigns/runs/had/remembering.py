"""Remembering: reading runs that have ended into the memory of who had their campaign.

Of campaigns that ask for it, in steps, like freezing: a crash costs one step. A campaign that only
now goes to those who have not had it has its earlier runs read, as far as their recipients exist.
"""

from __future__ import annotations

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from campaigns.runs.had.had import GOT_IT, LACKING, Had, Remembered
from campaigns.runs.run import Run

RECIPIENTS_AT_ONCE = 50_000  # read in one step


def _asking() -> Q:
    """Runs of campaigns that go only to those who have not had them: as it is now, or as it was
    when a run was launched whose recipients are still there, or of which others follow."""
    launched = Run.objects.filter(campaign=OuterRef("campaign"), once_each=True, forgotten_at=None)
    began = launched.exclude(state=Run.State.CANCELLED, planned=None)
    return Q(campaign__once_each=True) | Q(Exists(began))


def due() -> QuerySet[Run]:
    """Ended runs that are to be read, the oldest first."""
    ended = Run.objects.filter(finished_at__isnull=False, planned__isnull=False, forgotten_at=None)
    return ended.filter(LACKING).filter(_asking()).order_by("pk")


def due_beside(run_id: int) -> QuerySet[Run]:
    """Of the same campaign."""
    campaign = Run.driven.filter(pk=run_id).values("campaign")
    return due().filter(campaign__in=campaign)


def go_on(run_id: int) -> None:
    """Read the next recipients of one of its campaign's runs, unless another process reads.

    If the process dies here: the step is rolled back, and the next call reads it.
    """
    if not due_beside(run_id).exists():
        return
    with transaction.atomic():
        next_one = due_beside(run_id).first()
        if next_one and _is_free(next_one.campaign_id):
            _step(next_one)


def goes_on(run_id: int) -> bool:
    """Whether there is more to read, and no other process is reading."""
    next_one = due_beside(run_id).first()
    return next_one is not None and _is_free(next_one.campaign_id)


def whole(run: Run) -> None:
    """All of a run whose recipients are about to be removed, in their transaction."""
    while one := due().filter(pk=run.pk).first():
        _step(one)


def must_wait(run: Run) -> bool:
    """Whether nobody is to be chosen yet: earlier runs of its campaign are still read, or still
    choose people themselves, or are being cancelled."""
    others = Run.objects.filter(campaign=run.campaign_id, finished_at=None).exclude(pk=run.pk)
    choosing = others.filter(pk__lt=run.pk)
    return (
        due_beside(run.pk).exists()
        or choosing.filter(state=Run.State.PREPARING).exists()
        or any(other.freezing for other in choosing)
        or others.filter(state=Run.State.CANCELLED).exists()
    )


def sent_since(run: Run) -> bool:
    """Whether a later run of its campaign, to those who have not had it, has begun."""
    later = Run.objects.filter(campaign=run.campaign_id, once_each=True, pk__gt=run.pk)
    return later.filter(Q(started_at__isnull=False) | Q(state=Run.State.PREPARING)).exists()


def _is_free(campaign_id: int | None) -> bool:
    with connection.cursor() as cursor:
        key = f"remembering who had campaign {campaign_id}"
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        free: bool = cursor.fetchone()[0]
    return free


# Nobody who is being erased: they are waited for, and then they are gone.
READ = """
INSERT INTO campaigns_had (contact_id, campaign_id, run_id)
SELECT id, %(campaign)s, %(run)s FROM (
    SELECT c.id FROM notifications_contact c
    WHERE c.id IN (
        SELECT r.contact_id FROM campaigns_recipient r
        JOIN campaigns_delivery x ON x.run_id = r.run_id AND x.seq = r.seq
        WHERE r.run_id = %(run)s AND r.seq > %(after)s AND r.seq <= %(through)s
            AND x.run_id = %(run)s AND x.seq > %(after)s AND x.seq <= %(through)s
            AND x.status = ANY(%(got_it)s)
    )
    ORDER BY c.external_id FOR KEY SHARE
) there
ON CONFLICT DO NOTHING
"""


def _step(run: Run) -> None:
    kept = Remembered.objects.filter(pk=run.pk).first()
    if kept is None or kept.finished_at != run.finished_at:
        assert run.finished_at
        kept = Remembered(run=run, finished_at=run.finished_at)
    through = min(kept.through + RECIPIENTS_AT_ONCE, run.planned or 0)
    values = {"campaign": run.campaign_id, "run": run.pk, "got_it": [*map(str, GOT_IT)]}
    with connection.cursor() as cursor:
        cursor.execute(READ, {**values, "after": kept.through, "through": through})
    kept.through = through
    kept.save()


def remove_unasked() -> None:
    """The memory of campaigns that ask for it no more goes once the recipients of the runs that
    did are removed."""
    kept = Run.objects.filter(remembered__isnull=False).exclude(_asking())
    for campaign_id in set(kept.values_list("campaign_id", flat=True)):
        with transaction.atomic():
            Had.objects.filter(campaign_id=campaign_id).delete()
            Remembered.objects.filter(run__campaign=campaign_id).delete()
