"""Chunk: who is working on these recipients? Claimed, leased and fenced by guarded UPDATEs.

`attempt` is the fence: it grows with every claim, and whoever holds an older one writes nothing.
If a worker dies, its lease lapses and the sweep hands the chunk on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Exists, F, Func, OuterRef, Q, Sum
from django.db.models.functions import Greatest, Now
from django.utils.translation import gettext_lazy as _

from campaigns.runs.run import Run
from campaigns.runs.tick import LONG_SILENCE, Tick
from notifications.postgres import clock

SIZE = 1_000
WINDOW = 200
IN_FLIGHT = 3  # windows of one worker
ONE_WORKER = 1_000  # messages a second that one process of two on a core surely sends
LEASE = timedelta(seconds=settings.LEASE_SECONDS)
RENEWED_WITHIN = LEASE / 3  # a living worker renews each second; this is very late
HEARD_WITHIN = timedelta(seconds=2.5)  # whoever lives renews by then, once PostgreSQL takes writes
# After a sweep: long enough that a living worker would have renewed.
DOUBTED = timedelta(seconds=3)
NEXT_SWEEP = timedelta(seconds=5)
LOOKS = 100  # runs looked at early per sweep, at most
LAPSES_ALLOWED = 5
LOCKED_SECONDS = 0.5
LAST_HEARD = F("lease_until") - LEASE
SILENT = Q(state="leased", lease_until__lt=Now() + LEASE - RENEWED_WITHIN)
SETTLED = F("accepted") + F("rejected") + F("skipped") + F("unknown")


class Chunk(models.Model):
    """Who is working on these recipients, and how far are they?"""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        QUEUED = "queued", _("Queued")
        LEASED = "leased", _("Sending")
        HELD = "held", _("Held back")
        CLOSED = "closed", _("Done")
        QUARANTINED = "quarantined", _("Quarantined")

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()
    first_seq = models.PositiveIntegerField()
    last_seq = models.PositiveIntegerField()
    state = models.CharField(max_length=11, choices=State, default=State.WAITING)
    wave = models.PositiveIntegerField(null=True, help_text=_("The wave it was last rung in."))
    queued_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True, help_text=_("Its next retry is due then."))
    attempt = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    doubted_at = models.DateTimeField(null=True, help_text=_("When its worker was found silent."))
    lapses = models.PositiveIntegerField(default=0, help_text=_("Leases lost to a dying worker."))
    task_id = models.UUIDField(null=True, help_text=_("Its last task, as Flower knows it."))
    accepted = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    unknown = models.PositiveIntegerField(default=0)
    copies = models.PositiveIntegerField(default=0, help_text=_("Sent, and may have arrived."))
    released = models.PositiveIntegerField(
        db_default=0, help_text=_("Sent to again by a person, though it may have arrived.")
    )
    # How many by reason: the page adds up 400 of these instead of grouping 400,000 deliveries.
    reasons = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_chunk_per_number"),
            models.CheckConstraint(
                condition=Q(last_seq__gte=F("first_seq")), name="a_chunk_is_not_empty"
            ),
            models.CheckConstraint(
                condition=Q(state="leased", lease_until__isnull=False)
                | (~Q(state="leased") & Q(lease_until__isnull=True)),
                name="leased_means_a_lease",
            ),
            models.CheckConstraint(
                condition=~Q(state="closed") | Q(last_seq=F("first_seq") - 1 + SETTLED),
                name="a_closed_chunk_balances",
            ),
        ]
        indexes = [
            models.Index(
                fields=["run", "state", "number"],
                condition=~Q(state="closed"),
                name="open_chunks_of_run",
            ),
            models.Index(fields=["lease_until"], condition=Q(state="leased"), name="leases_by_end"),
        ]

    def __str__(self) -> str:
        return f"chunk {self.number} of run {self.run_id}"

    @property
    def size(self) -> int:
        return self.last_seq - self.first_seq + 1

    @property
    def waiting(self) -> int:
        return self.size - self.accepted - self.rejected - self.skipped - self.unknown


class Fenced(Exception):
    """Somebody else holds the chunk now. Write nothing, start nothing, go."""


# One statement, written by hand: it runs before every window, and three ORM queries cost a tenth
# of all the CPU.
PROLONG = """
WITH held AS (
    UPDATE campaigns_chunk SET lease_until = statement_timestamp() + %(lease)s
    WHERE id = %(chunk)s AND attempt = %(fence)s AND state = 'leased'
    RETURNING id, run_id, attempt
), wanted AS (
    SELECT rate_per_second FROM campaigns_run
    WHERE id = %(run)s AND epoch = %(epoch)s AND state = 'sending'
), opened AS (
    INSERT INTO campaigns_window (run_id, chunk_id, attempt, seqs, opened_at)
    -- Without devices that left since they were read: the phone may be somebody else's.
    SELECT run_id, id, attempt, ARRAY(
        SELECT r.seq FROM campaigns_recipient r JOIN notifications_device d ON d.id = r.device_id
        WHERE r.run_id = %(run)s AND r.seq = ANY(%(seqs)s::int[])
            AND d.contact_id = r.contact_id AND d.retired_at IS NULL
    -- Our own clock may be ahead, and jump back before the window is settled.
    ), least(%(now)s, statement_timestamp())
    FROM held, wanted
    WHERE cardinality(%(seqs)s::int[]) > 0
    RETURNING id, seqs
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM wanted),
    (SELECT rate_per_second FROM wanted), (SELECT id FROM opened), (SELECT seqs FROM opened)
"""


@dataclass(frozen=True)
class Opened:
    """A window as it was written down."""

    pk: int
    seqs: frozenset[int]


@dataclass
class Claim:
    """A chunk held under a fence. Everything its holder writes goes through `held`."""

    run: Run
    chunk: Chunk
    now: Callable[[], datetime] = field(default_factory=clock.ticking)

    @property
    def held(self) -> models.QuerySet[Chunk]:
        return Chunk.objects.filter(
            pk=self.chunk.pk, attempt=self.chunk.attempt, state=Chunk.State.LEASED
        )

    def renew(self) -> bool:
        """Prolong the lease; say whether the run still wants work started. Raises Fenced."""
        wanted, _ = self._prolong(seqs=[], now=None)
        return wanted

    def open_window(self, seqs: list[int], now: datetime) -> Opened | None:
        """Commit whom requests are about to leave for; None if the run wants no more.

        Raises Fenced. If the process dies here: these are ambiguous, whether or not a request left.
        """
        _, window = self._prolong(seqs, now)
        return window

    def _prolong(self, seqs: list[int], now: datetime | None) -> tuple[bool, Opened | None]:
        """The run's rate comes along: a person may have changed it meanwhile."""
        values: dict[str, Any] = {
            "lease": LEASE,
            "chunk": self.chunk.pk,
            "fence": self.chunk.attempt,
        }
        values |= {"run": self.run.pk, "epoch": self.run.epoch, "seqs": seqs, "now": now}
        with connection.cursor() as cursor:
            cursor.execute(PROLONG, values)
            held, wanted, rate, window, seqs = cursor.fetchone()
        if not held:
            raise Fenced
        if wanted:
            self.run.rate_per_second = rate
        return bool(wanted), window and Opened(window, frozenset(seqs))

    def close(self) -> bool:
        """Close the chunk if every recipient is settled."""
        settled = self.held.filter(last_seq=F("first_seq") - 1 + SETTLED)
        return bool(settled.update(state=Chunk.State.CLOSED, lease_until=None, not_before=None))


def claim(run_id: int, number: int, epoch: int, *, task_id: str | None) -> Claim | None:
    """Take a queued chunk, or learn that it is taken, done, paused or of an older epoch.

    If the process dies here: the lease lapses and the sweep hands the chunk on.
    """
    queued = Chunk.objects.filter(
        Exists(_wanted(run_id, epoch)), run=run_id, number=number, state=Chunk.State.QUEUED
    ).exclude(_rung_in_another_life())
    with transaction.atomic():
        leased = {"state": Chunk.State.LEASED, "lease_until": Now() + LEASE, "task_id": task_id}
        if not _take(queued) or not queued.update(**leased, attempt=F("attempt") + 1):
            return None
        chunk = Chunk.objects.select_related("run__project").get(run=run_id, number=number)
        _count_interrupted(chunk)
    return Claim(chunk.run, chunk)


def _take(queued: models.QuerySet[Chunk]) -> bool:
    """Lock the chunk, unless another process keeps its row locked: a worker's time is too dear to
    wait for that, and the chunk is rung again.
    """
    give_up_at = time.monotonic() + LOCKED_SECONDS
    while not unlocked(queued):
        if not queued.exists() or time.monotonic() > give_up_at:
            return False
        time.sleep(0.05)
    return True


def _count_interrupted(chunk: Chunk) -> None:
    """What the worker before us had in flight when it died may have rung phones as well."""
    if chunk.attempt == 1:
        return
    interrupted = chunk.windows.filter(attempt=chunk.attempt - 1, settled_at=None)
    people = Func("seqs", function="cardinality", output_field=models.IntegerField())
    if lost := interrupted.aggregate(people=Sum(people))["people"]:
        Chunk.objects.filter(pk=chunk.pk).update(copies=F("copies") + lost)


def _wanted(run_id: int, epoch: int) -> models.QuerySet[Run]:
    return Run.objects.filter(pk=run_id, epoch=epoch, state=Run.State.SENDING)


def _rung_in_another_life() -> Q:
    """By a doorbell older than a long absence: its run waits until a person was asked."""
    long_ago = Now() - LONG_SILENCE
    still_away = Q(Exists(Tick.objects.filter(at__lt=long_ago)), queued_at__lt=long_ago)
    back = Tick.objects.filter(back_at__gt=OuterRef("queued_at") + LONG_SILENCE)
    return still_away | Q(Exists(back))


def worked_on(run: Run) -> bool:
    """Whether any worker on this run renewed its lease lately. A dead one's still has to lapse."""
    heard_since = Now() + LEASE - RENEWED_WITHIN
    return run.chunks.filter(state=Chunk.State.LEASED, lease_until__gt=heard_since).exists()


def unlocked(chunks: models.QuerySet[Chunk]) -> list[int]:
    """Those whose row no other transaction has locked; ours until our own transaction ends."""
    free = chunks.select_for_update(skip_locked=True, no_key=True)
    return list(free.values_list("pk", flat=True))


def free_lapsed(run: Run) -> int:
    """Take chunks from workers that died or hang. What they had in flight is ambiguous now.

    Not at the first look: while PostgreSQL takes no writes nobody can prolong a lease, and all of
    them seem over when it is back. A worker that was cut off while it wrote may still lock its
    chunk's row: the other chunks must not wait for it.
    """
    _doubt(run)
    over = run.chunks.filter(state=Chunk.State.LEASED, lease_until__lt=Now())
    over = over.filter(doubted_at__gt=LAST_HEARD, doubted_at__lt=Now() - HEARD_WITHIN)
    lapsed = over.filter(pk__in=unlocked(over))
    freed = lapsed.filter(lapses__lt=LAPSES_ALLOWED - 1).update(
        state=Chunk.State.WAITING, lease_until=None, lapses=F("lapses") + 1
    )
    return freed + lapsed.filter(lapses__gte=LAPSES_ALLOWED - 1).update(
        state=Chunk.State.QUARANTINED, lease_until=None, lapses=F("lapses") + 1
    )


def lapses_soon() -> list[tuple[int, timedelta]]:
    """Runs whose silent workers lose chunks before the next sweep comes by, and how soon."""
    lost_at = Greatest("lease_until", Now() + DOUBTED)
    soon = Chunk.objects.filter(SILENT, lease_until__lt=Now() + NEXT_SWEEP)
    return list(soon.values_list("run_id", lost_at - Now()).distinct()[:LOOKS])


def _doubt(run: Run) -> None:
    """Note workers silent for longer than a living one ever is, well before their lease ends."""
    new = run.chunks.filter(SILENT).filter(Q(doubted_at=None) | Q(doubted_at__lte=LAST_HEARD))
    new.filter(pk__in=unlocked(new)).update(doubted_at=Now())
