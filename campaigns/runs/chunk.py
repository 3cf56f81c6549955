"""Chunk: a part of a run's recipients, which one worker at a time sends to under a lease.

`claiming.py` claims chunks by guarded UPDATEs. If a worker dies, its lease lapses and the sweep
hands the chunk on: see `lapsing.py`.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Greatest, Now
from django.utils.translation import gettext_lazy as _

from campaigns.runs.run import Run
from notifications.measures.by_project import PROJECTS
from notifications.measures.measure import Count

# Large, so that a process seldom changes chunks; but several per process, so that all processes
# end at about the same time.
LARGEST, SMALLEST, SHARED_IN = 4_000, 1_000, 16
WINDOW = 200
# Windows of one worker. Each waits for its slowest answer: with three, sockets were idle.
IN_FLIGHT = 5
ONE_WORKER = 1_000  # messages a second that a process surely sends, with two processes on a core
LEASE = timedelta(seconds=settings.LEASE_SECONDS)
RENEWED_WITHIN = LEASE / 3  # a living worker renews each second; this is very late
HEARD_WITHIN = timedelta(seconds=2.5)  # a living worker renews by then, if PostgreSQL takes writes
# After a sweep: long enough that a living worker would have renewed.
DOUBTED = timedelta(seconds=3)
NEXT_SWEEP = timedelta(seconds=5)
SOON = 2 * NEXT_SWEEP  # a chunk that waits no longer than this counts as at work
LOOKS = 100  # runs looked at early per sweep, at most
LAST_HEARD = F("lease_until") - LEASE
SILENT = Q(state="leased", lease_until__lt=Now() + LEASE - RENEWED_WITHIN)
TAKEN_OVER = Count(
    "carillon_lease_takeovers_total",
    "Chunks taken from workers that died or hung.",
    {"project": PROJECTS},
)
SETTLED = F("accepted") + F("rejected") + F("skipped") + F("unknown")


class Chunk(models.Model):
    """A part of a run's recipients: its state, its worker's lease, and its outcomes so far."""

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
    bulk = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Of messages to many: it goes by the queue of campaigns.",
    )
    # Waits until the first part of its run did well; see `campaigns/canary/`.
    follows = models.BooleanField(default=False, db_default=False)
    # Outcomes by reason: the page adds up 400 of these instead of grouping 400,000 deliveries.
    reasons = models.JSONField(default=dict)
    # Outcomes by revision of the run's text and status, without the first: {"2.accepted": 190}.
    revisions = models.JSONField(default=dict, db_default={})

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


def at_work(project_id: int) -> models.QuerySet[Run]:
    """The project's runs that send now. Excludes runs whose remaining recipients all wait for
    their own time."""
    open_ones = (Chunk.State.WAITING, Chunk.State.QUEUED, Chunk.State.LEASED)
    sleeps = Q(state=Chunk.State.WAITING, not_before__gt=Now() + SOON)
    awake = Chunk.objects.filter(run=OuterRef("pk"), state__in=open_ones).exclude(sleeps)
    sending = Run.objects.filter(project=project_id, state=Run.State.SENDING)
    return sending.filter(Exists(awake) | Q(unfrozen__isnull=False))


def size_for(recipients: int) -> int:
    return min(LARGEST, max(SMALLEST, recipients // SHARED_IN))


def worked_on(run: Run) -> bool:
    """Whether any worker on this run renewed its lease lately. A dead worker's still has to
    lapse."""
    heard_since = Now() + LEASE - RENEWED_WITHIN
    return run.chunks.filter(state=Chunk.State.LEASED, lease_until__gt=heard_since).exists()


def unlocked(chunks: models.QuerySet[Chunk]) -> list[int]:
    """Lock the chunks that no other transaction has locked, until ours ends. Returns their ids."""
    free = chunks.select_for_update(skip_locked=True, no_key=True)
    return list(free.values_list("pk", flat=True))


def lapses_soon() -> list[tuple[int, timedelta]]:
    """Runs whose silent workers lose chunks before the next sweep, and how soon."""
    lost_at = Greatest("lease_until", Now() + DOUBTED)
    soon = Chunk.objects.filter(SILENT, lease_until__lt=Now() + NEXT_SWEEP)
    return list(soon.values_list("run_id", lost_at - Now()).distinct()[:LOOKS])


def requeue_stopped(run: Run) -> None:
    """Let the chunks of a resumed run be sent; quarantined ones get all their attempts again.

    This includes queued chunks: their tasks carry an older epoch, so workers ignore those tasks.
    """
    states = (Chunk.State.QUARANTINED, Chunk.State.HELD, Chunk.State.QUEUED)
    run.chunks.filter(state__in=states).update(state=Chunk.State.WAITING, lapses=0)
