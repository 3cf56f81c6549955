"""Breakers: when the answers say that it is us and not the recipients, a run pauses for a person.

A wrong key calls every device foreign, a bad text is refused for everybody, an outage may call
thousands dead. Whoever was refused for such a reason keeps waiting, and goes out after the resume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Sum

from campaigns import details
from campaigns.chunk import Claim
from campaigns.judging import Final
from campaigns.ledger import Delivery
from campaigns.left import Left
from campaigns.reasons import Cause, Reason
from campaigns.run import Run
from notifications import device
from notifications.device import Device
from notifications.gateway import Outcome, Verdict
from notifications.outage import patiently

DEAD = (Reason.UNREGISTERED, Reason.MALFORMED_ADDRESS)
OUR_TEXT = (Reason.REFUSED_MESSAGE, Reason.INVALID_MESSAGE, Reason.TOO_LONG)

ALL_REFUSED = 100  # so many refusals before the first acceptance are no coincidence
FOREIGN_SHARE, FOREIGN_AT_LEAST = 0.01, 10
DEAD_SHARE, DEAD_AT_LEAST = 0.05, 20  # of a chunk; a healthy list loses 1 to 2 % a month
DEAD_TIMES_USUAL, USUAL_FROM, NOT_WORTH_A_PAUSE = 10, 10_000, 0.01
PLATFORM_ALL_REFUSED = 10
STORM_SHARE, STORM_AT_LEAST = 1.2, 100

NO_ACCESS = {
    "bad_credentials": Cause.BAD_CREDENTIALS,
    "unauthorised": Cause.UNAUTHORISED,
    "forbidden": Cause.UNAUTHORISED,
    "wrong_project": Cause.WRONG_PROJECT,
}


@dataclass(frozen=True)
class Trip:
    """Why the run must pause, and whose refusals are not to be believed."""

    cause: Cause
    detail: str
    spared: Sequence[str] = ()


@dataclass(frozen=True)
class Evidence:
    """What FCM has said of a run so far."""

    accepted: int
    rejected: int
    foreign: int
    ours: int
    dead: int

    @property
    def answered(self) -> int:
        return self.accepted + self.rejected


def look(claim: Claim, outcomes: Iterable[Outcome], finals: Iterable[Final]) -> Trip | None:
    """Judge a window's answers before they are written. The rows are asked only on suspicion."""
    outcomes = list(outcomes)
    if trip := _no_access(outcomes):
        return trip
    answers = Counter(outcome.reason for outcome in outcomes)
    answers.update(final.reason for final in finals if final.reason in OUR_TEXT)
    if not _suspicious(claim, answers):
        return None
    evidence = _evidence([claim.run.pk], answers)
    found = (_unreadable(answers), _foreign(evidence), _refused(evidence), _dying(claim, answers))
    return next(
        (trip for trip in found if trip and not _overruled(trip, claim.run, evidence)), None
    )


def look_back(run: Run) -> Trip | None:
    """Judge the whole run by its rows: what no single window shows.

    They say nothing new to a person who saw it and resumed; the next answers may.
    """
    evidence = _evidence([run.pk], {})
    found = (_foreign(evidence), _dying_unusually(run, evidence), _storm(run))
    return next((trip for trip in found if trip and trip.cause not in run.overruled), None)


def proven(run: Run) -> bool:
    """Whether FCM has accepted anything of this run: then key and text are in order."""
    return run.accepted > 0 or run.chunks.filter(accepted__gt=0).exists()


def _overruled(trip: Trip, run: Run, evidence: Evidence) -> bool:
    """A person saw it and resumed. A run of which nothing was ever accepted stops again."""
    regardless = trip.cause is Cause.DEAD_ADDRESSES or evidence.accepted > 0
    return trip.cause in run.overruled and regardless


def _suspicious(claim: Claim, answers: Counter[str]) -> bool:
    ours = sum(answers[reason] for reason in OUR_TEXT)
    foreign = answers[Reason.OTHER_PROJECT] > FOREIGN_SHARE * answers.total()
    all_ours = ours and not answers[""]
    unreadable = answers[Reason.UNREADABLE_MESSAGE]
    return bool(unreadable or foreign or all_ours or _dying(claim, answers))


# --- The rules ------------------------------------------------------------------------------------


def _no_access(outcomes: list[Outcome]) -> Trip | None:
    """One is enough: a 401 comes here only after a fresh token was refused as well."""
    refused = next((o for o in outcomes if o.verdict is Verdict.UNAUTHORISED), None)
    if refused is None:
        return None
    return Trip(NO_ACCESS[refused.reason], refused.detail)


def _unreadable(answers: Mapping[str, int]) -> Trip | None:
    if not answers[Reason.UNREADABLE_MESSAGE]:
        return None
    detail = details.UNREADABLE.format(count=f"{answers[Reason.UNREADABLE_MESSAGE]:,}")
    return Trip(Cause.UNREADABLE_MESSAGE, detail, (Reason.UNREADABLE_MESSAGE,))


def _foreign(evidence: Evidence) -> Trip | None:
    share = evidence.foreign / max(evidence.answered, 1)
    if evidence.foreign < FOREIGN_AT_LEAST or share <= FOREIGN_SHARE:
        return None
    count, answered = f"{evidence.foreign:,}", f"{evidence.answered:,}"
    detail = details.FOREIGN.format(count=count, answered=answered)
    return Trip(Cause.OTHER_PROJECT, detail, (Reason.OTHER_PROJECT,))


def _refused(evidence: Evidence) -> Trip | None:
    if evidence.accepted or evidence.ours < ALL_REFUSED:
        return None
    detail = details.REFUSED.format(count=f"{evidence.ours:,}")
    return Trip(Cause.REFUSED_MESSAGE, detail, OUR_TEXT)


def _dying(claim: Claim, answers: Mapping[str, int]) -> Trip | None:
    """FCM's word stands in the rows, but no device is retired on it until a person agrees."""
    dead = sum(claim.chunk.reasons.get(reason, 0) + answers[reason] for reason in DEAD)
    if dead < DEAD_AT_LEAST or dead <= DEAD_SHARE * claim.chunk.size:
        return None
    part = {"dead": f"{dead:,}", "size": f"{claim.chunk.size:,}", "chunk": claim.chunk.number}
    return Trip(Cause.DEAD_ADDRESSES, details.DYING.format(**part, retired=_retired(claim.run)))


def _dying_unusually(run: Run, evidence: Evidence) -> Trip | None:
    # The oldest people come first, and with them most of the dead: a beginning proves nothing.
    if evidence.answered < min(run.planned or 0, USUAL_FROM):
        return None
    share = evidence.dead / max(evidence.answered, 1)
    if evidence.dead < DEAD_AT_LEAST or share <= NOT_WORTH_A_PAUSE:
        return None
    earlier = Run.objects.filter(project=run.project_id, state=Run.State.FINISHED)
    usual = _evidence(list(earlier.order_by("-pk").values_list("pk", flat=True)[:10]), {})
    if usual.answered < USUAL_FROM or share <= DEAD_TIMES_USUAL * usual.dead / usual.answered:
        return None
    part = {"share": _percent(share), "usual": _percent(usual.dead / usual.answered)}
    return Trip(Cause.DEAD_ADDRESSES, details.UNUSUAL.format(**part, retired=_retired(run)))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _retired(run: Run) -> str:
    count = device.retired_by(run.reference).count()
    return details.RETIRED.format(count=f"{count:,}") if count else details.NONE_RETIRED


def _storm(run: Run) -> Trip | None:
    """Whatever the cause, nobody wants to ring the same phones again and again."""
    copies = run.chunks.aggregate(sum=Sum("copies"))["sum"] or 0
    planned = run.planned or 0
    if copies <= max(STORM_SHARE * planned, planned + STORM_AT_LEAST):
        return None
    detail = details.STORM.format(copies=f"{copies:,}", planned=f"{planned:,}")
    return Trip(Cause.STORM, detail)


# --- A platform's key -----------------------------------------------------------------------------


def platforms_to_hold(
    run: Run, by_reference: Mapping[str, Left], outcomes: Iterable[Outcome], in_a_row: Counter[str]
) -> set[str]:
    """Platforms of which FCM refuses everything for want of a key; the others go on.

    `in_a_row` counts refusals over windows: of a small platform, each window has few.
    """
    accepted, refused = Counter[str](), Counter[str]()
    for outcome in outcomes:
        platform = by_reference[outcome.reference].reader.platform
        accepted[platform] += outcome.verdict is Verdict.ACCEPTED
        refused[platform] += outcome.verdict is Verdict.PLATFORM_KEY
    for platform, count in refused.items():
        in_a_row[platform] = 0 if accepted[platform] else in_a_row[platform] + count
    return {
        platform
        for platform in +refused
        if not accepted[platform]
        and (in_a_row[platform] >= PLATFORM_ALL_REFUSED or _never_worked(run, platform))
    }


def _never_worked(run: Run, platform: str) -> bool:
    """Nothing of it accepted yet. Else it is one odd device (a test build, another app); so it is
    after a resume, when a person says that the key is there."""
    if Cause.PLATFORM_KEY in run.overruled:
        return False
    of_platform = Device.objects.filter(platform=platform).values("pk")
    accepted = Delivery.objects.filter(run_id=run.pk, status=Delivery.Status.ACCEPTED)
    return not patiently(accepted.filter(device_id__in=of_platform).exists)


# --- The rows -------------------------------------------------------------------------------------

EVIDENCE = """
SELECT COALESCE(sum(accepted), 0), COALESCE(sum(rejected), 0), {counts}
FROM campaigns_chunk WHERE run_id = ANY(%s)
"""
COUNT = "COALESCE(sum((reasons ->> '{}')::int), 0)"


def _evidence(run_ids: list[int], answers: Mapping[str, int]) -> Evidence:
    groups = ((Reason.OTHER_PROJECT,), OUR_TEXT, DEAD)
    counts = [" + ".join(COUNT.format(reason.value) for reason in group) for group in groups]
    with connection.cursor() as cursor:
        cursor.execute(EVIDENCE.format(counts=", ".join(counts)), [run_ids])
        accepted, rejected, *found = cursor.fetchone()
    fresh = [sum(answers.get(reason, 0) for reason in group) for group in groups]
    foreign, ours, dead = (old + new for old, new in zip(found, fresh, strict=True))
    return Evidence(accepted + answers.get("", 0), rejected + sum(fresh), foreign, ours, dead)
