"""Breakers: pause a run if FCM's answers show that we are at fault, not the recipients.

With a wrong key, FCM calls every device foreign. A bad text is refused for everybody, and an outage
may call thousands of addresses dead. Recipients refused for such a reason keep waiting, and are
sent to after the resume.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import connection
from django.db.models import Sum

from campaigns.runs import details
from campaigns.runs.chunk import IN_FLIGHT, WINDOW
from campaigns.runs.claiming import Claim
from campaigns.runs.details import Detail
from campaigns.runs.reasons import DEAD, Cause, Reason
from campaigns.runs.revisions import shares
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.run import Run
from campaigns.sending.judge_answers import Final
from campaigns.sending.unsettled import UnsettledRecipient
from notifications.gateway import Outcome, Verdict
from notifications.people import device

OUR_TEXT = (Reason.REFUSED_MESSAGE, Reason.INVALID_MESSAGE, Reason.TOO_LONG)

ALL_REFUSED = 100  # as many refusals before the first acceptance are no coincidence
FOREIGN_SHARE, FOREIGN_AT_LEAST = 0.01, 10
RETIRED_SHARE, RETIRED_AT_LEAST = 0.05, 20  # of a chunk; a healthy list loses 1 to 2 % a month
# Share of answers. The first campaign to an old list finds 10 to 20 % dead; more may be our fault.
DEAD_SHARE, DEAD_TIMES_USUAL, MAX_DEAD_SHARE = 0.3, 10, 0.6
FIRST_ANSWERS, FEW_ANSWERS = 1_000, 20
ALL_UNKNOWN, FEW_UNKNOWN = 10, 3  # in a smaller run, all its recipients, but at least FEW_UNKNOWN
STORM_SHARE, STORM_AT_LEAST = 1.2, 100
# Requests that one outage, or one restart of everything, may leave in doubt: this is no storm yet.
IN_DOUBT = settings.WORKERS * IN_FLIGHT * WINDOW

NO_ACCESS = {
    "bad_credentials": Cause.BAD_CREDENTIALS,
    "unauthorised": Cause.UNAUTHORISED,
    "forbidden": Cause.UNAUTHORISED,
    "wrong_project": Cause.WRONG_PROJECT,
}


@dataclass(frozen=True)
class Trip:
    """Why the run must pause, and the reasons of refusal that are not believed."""

    cause: Cause
    detail: Detail | str
    spared: Sequence[str] = ()


@dataclass(frozen=True)
class Evidence:
    """Counts of FCM's answers for a run so far."""

    accepted: int
    rejected: int
    skipped: int
    foreign: int
    ours: int
    dead: int

    @property
    def answered(self) -> int:
        return self.accepted + self.rejected


def judge_window(
    claim: Claim,
    by_reference: Mapping[str, UnsettledRecipient],
    outcomes: Iterable[Outcome],
    finals: Iterable[Final],
) -> Trip | None:
    """Judge a window's answers before they are written. It reads the rows only on suspicion.

    It may run twice, because PostgreSQL may fail while it reads: odd answers are counted at the
    end.
    """
    outcomes = [outcome for outcome in outcomes if outcome.verdict is not Verdict.UNSENT]
    if trip := _judge_access(outcomes):
        return trip
    if claim.run.kind == Run.Kind.MESSAGES:
        return None  # a text belongs to one call: it must not stop the messages of other calls
    odd = _odd_outcomes(by_reference, outcomes)
    in_a_row = _count_in_a_row(claim.run, odd)
    trip = _judge(claim, outcomes, finals, _judge_odd(claim.run, odd, in_a_row))
    _store_in_a_row(claim.run, in_a_row)
    return trip


def _judge(
    claim: Claim, outcomes: list[Outcome], finals: Iterable[Final], odd: Trip | None
) -> Trip | None:
    answers = Counter(outcome.reason for outcome in outcomes)
    answers.update(final.reason for final in finals if final.reason in OUR_TEXT)
    if not odd and not _is_suspicious(claim, answers):
        return None
    evidence = _evidence([claim.run.pk], answers)
    trips = (
        *(_judge_unreadable(answers), odd),
        *(
            _judge_foreign(evidence),
            _judge_refused(_evidence_of_newest_text(claim.run, evidence, answers)),
        ),
        _judge_dead(claim, answers, evidence),
    )
    return next(
        (trip for trip in trips if trip and not _is_overruled(trip, claim.run, evidence)), None
    )


def look_back(run: Run) -> Trip | None:
    """Judge the whole run by its rows, for faults that no single window shows.

    A cause from which a person resumed does not count again here: the rows say nothing new to
    them. The next answers may.
    """
    evidence = _evidence([run.pk], {})
    trips = (_judge_foreign(evidence), _judge_storm(run))
    return next((trip for trip in trips if trip and trip.cause not in run.overruled), None)


def proven(run: Run) -> bool:
    """Whether FCM has accepted a message of this run: then key and text are in order. If the text
    was changed, only answers to the newest text count."""
    if run.revision > FIRST:
        accepted = shares.key_of(run.revision, "accepted")
        return run.chunks.filter(revisions__has_key=accepted).exists()
    return run.accepted > 0 or run.chunks.filter(accepted__gt=0).exists()


def _evidence_of_newest_text(run: Run, evidence: Evidence, answers: Counter[str]) -> Evidence:
    """The evidence for the newest text: acceptances of an earlier text do not count."""
    if run.revision == FIRST:
        return evidence
    counts = shares.by_revision(run)[run.revision]
    fresh = sum(answers[reason] for reason in OUR_TEXT)
    our_faults = min(evidence.ours, counts["rejected"] + fresh)
    return replace(evidence, accepted=counts["accepted"] + answers[""], ours=our_faults)


def _is_overruled(trip: Trip, run: Run, evidence: Evidence) -> bool:
    """Whether a person saw this cause and resumed. If nothing of the run was ever accepted, it
    stops again, except for dead addresses."""
    regardless = trip.cause is Cause.DEAD_ADDRESSES or evidence.accepted > 0
    return trip.cause in run.overruled and regardless


def _is_suspicious(claim: Claim, answers: Counter[str]) -> bool:
    our_faults = sum(answers[reason] for reason in OUR_TEXT)
    foreign = answers[Reason.OTHER_PROJECT] > FOREIGN_SHARE * answers.total()
    all_ours = our_faults and not answers[""]
    return bool(
        answers[Reason.UNREADABLE_MESSAGE] or foreign or all_ours or _may_be_dying(claim, answers)
    )


def _may_be_dying(claim: Claim, answers: Counter[str]) -> bool:
    """Whether dead addresses are reason to read the rows. At the beginning of a run, any one is."""
    dead = _dead_of_chunk(claim, answers)
    begins = claim.run.accepted + claim.run.rejected <= FIRST_ANSWERS
    return dead >= DEAD_SHARE * FIRST_ANSWERS or (dead > 0 and begins)


# --- The rules ------------------------------------------------------------------------------------


def _judge_access(outcomes: list[Outcome]) -> Trip | None:
    """Pause if FCM refuses our access. One answer is enough: a 401 comes here only after a fresh
    token was refused as well."""
    refused = next((o for o in outcomes if o.verdict is Verdict.UNAUTHORISED), None)
    if refused is None:
        return None
    return Trip(NO_ACCESS[refused.reason], refused.detail)


def _judge_unreadable(answers: Mapping[str, int]) -> Trip | None:
    if not answers[Reason.UNREADABLE_MESSAGE]:
        return None
    detail = details.make("unreadable", count=answers[Reason.UNREADABLE_MESSAGE])
    return Trip(Cause.UNREADABLE_MESSAGE, detail, (Reason.UNREADABLE_MESSAGE,))


def _judge_foreign(evidence: Evidence) -> Trip | None:
    share = evidence.foreign / max(evidence.answered, 1)
    if evidence.foreign < FOREIGN_AT_LEAST or share <= FOREIGN_SHARE:
        return None
    detail = details.make("foreign", count=evidence.foreign, answered=evidence.answered)
    return Trip(Cause.OTHER_PROJECT, detail, (Reason.OTHER_PROJECT,))


def _judge_refused(evidence: Evidence) -> Trip | None:
    if evidence.accepted or evidence.ours < ALL_REFUSED:
        return None
    detail = details.make("refused", count=evidence.ours)
    return Trip(Cause.REFUSED_MESSAGE, detail, OUR_TEXT)


# Unexpected answers in a row in this process, by run and epoch. At a low rate, or while FCM is
# tried with single messages, each window has few of them.
_odd_in_a_row = Counter[tuple[int, int]]()


def _odd_outcomes(
    by_reference: Mapping[str, UnsettledRecipient], outcomes: Sequence[Outcome]
) -> list[Outcome] | None:
    """The unexpected answers of a window, or None if there are others.

    A proxy or a firewall answers for everybody: an odd answer among others is due to the address.
    """
    odd = [outcome for outcome in outcomes if outcome.reason == Reason.UNKNOWN_ANSWER]
    if len(odd) < len(outcomes):
        return None
    # A second try of the same person says nothing new about all the others.
    return [outcome for outcome in odd if not by_reference[outcome.reference].tries]


def _count_in_a_row(run: Run, odd: list[Outcome] | None) -> int:
    return 0 if odd is None else _odd_in_a_row[run.pk, run.epoch] + len(odd)


def _store_in_a_row(run: Run, in_a_row: int) -> None:
    _odd_in_a_row[run.pk, run.epoch] = in_a_row
    if not in_a_row:
        del _odd_in_a_row[run.pk, run.epoch]


def _judge_odd(run: Run, odd: list[Outcome] | None, in_a_row: int) -> Trip | None:
    enough = min(ALL_UNKNOWN, max(FEW_UNKNOWN, run.planned or 0))
    if not odd or in_a_row < enough:
        return None
    return Trip(Cause.UNKNOWN_ANSWER, odd[0].detail, (Reason.UNKNOWN_ANSWER,))


def _judge_dead(claim: Claim, answers: Mapping[str, int], evidence: Evidence) -> Trip | None:
    """Pause if too many addresses are dead, at the run's beginning or in a chunk: a later outage
    may call all addresses dead as well."""
    of_chunk = max(FIRST_ANSWERS, _answered_of_chunk(claim) + sum(answers.values()))
    samples = [(_dead_of_chunk(claim, answers), of_chunk), _dead_at_beginning(claim.run, evidence)]
    dead, size = max(samples, key=lambda sample: sample[0] / sample[1])
    if dead < DEAD_SHARE * size or dead < _allowed_dead_share(claim.run) * size:
        return None
    retired = device.retired_by(claim.run.reference).count()
    code, args = ("dying_retired", {"retired": retired}) if retired else ("dying", {})
    return Trip(Cause.DEAD_ADDRESSES, details.make(code, dead=dead, answered=size, **args))


def _dead_at_beginning(run: Run, evidence: Evidence) -> tuple[int, int]:
    """How many addresses were dead of how many: of the first thousand, or of all if there are
    fewer."""
    max_answered = (
        run.planned or 0
    ) - evidence.skipped  # FCM is never asked for skipped recipients
    if max_answered < FEW_ANSWERS:
        return 0, FEW_ANSWERS
    if max_answered >= FIRST_ANSWERS:
        late = evidence.answered > FIRST_ANSWERS + WINDOW
        return (0 if late else evidence.dead), FIRST_ANSWERS
    return evidence.dead, max(FEW_ANSWERS, evidence.answered)


def may_retire(claim: Claim) -> bool:
    """Whether dead addresses retire their devices. With more dead than usual, they do not until a
    person agrees; FCM's answer is written in any case.
    """
    dead = _dead_of_chunk(claim, {})
    # Measured by FIRST_ANSWERS at most, not a large chunk's whole size: an outage that calls
    # everybody dead retires at most fifty.
    of_chunk = max(min(claim.chunk.size, FIRST_ANSWERS), _answered_of_chunk(claim))
    few = dead <= max(RETIRED_AT_LEAST, RETIRED_SHARE * of_chunk)
    return few or Cause.DEAD_ADDRESSES in claim.run.overruled


def _answered_of_chunk(claim: Claim) -> int:
    return claim.chunk.accepted + claim.chunk.rejected


def _dead_of_chunk(claim: Claim, answers: Mapping[str, int]) -> int:
    return sum(claim.chunk.reasons.get(reason, 0) + answers.get(reason, 0) for reason in DEAD)


def _allowed_dead_share(run: Run) -> float:
    """The share of dead addresses that is allowed: ten times what is usual in this project, at
    least DEAD_SHARE and at most MAX_DEAD_SHARE."""
    earlier = Run.objects.filter(project=run.project_id, state=Run.State.FINISHED)
    usual = _evidence(list(earlier.order_by("-pk").values_list("pk", flat=True)[:10]), {})
    if usual.answered < FIRST_ANSWERS:
        return DEAD_SHARE
    share = DEAD_TIMES_USUAL * usual.dead / usual.answered
    return max(DEAD_SHARE, min(share, MAX_DEAD_SHARE))


def _judge_storm(run: Run) -> Trip | None:
    """Pause if far more requests may have arrived than there are recipients, whatever the cause:
    the same phones must not ring again and again.

    Copies that a person asked for with “send again” do not count.
    """
    sums = run.chunks.aggregate(copies=Sum("copies"), released=Sum("released"))
    copies = (sums["copies"] or 0) - (sums["released"] or 0)
    planned = run.planned or 0
    once_more = max(STORM_AT_LEAST, min(IN_DOUBT, planned))
    if copies <= max(STORM_SHARE * planned, planned + once_more):
        return None
    detail = details.make("storm", copies=copies, planned=planned)
    return Trip(Cause.STORM, detail)


# --- The rows -------------------------------------------------------------------------------------

EVIDENCE = """
SELECT COALESCE(sum(accepted), 0), COALESCE(sum(rejected), 0), COALESCE(sum(skipped), 0), {counts}
FROM campaigns_chunk WHERE run_id = ANY(%s)
"""
COUNT = "COALESCE(sum((reasons ->> '{}')::int), 0)"


def _evidence(run_ids: list[int], answers: Mapping[str, int]) -> Evidence:
    groups = ((Reason.OTHER_PROJECT,), OUR_TEXT, DEAD)
    counts = [" + ".join(COUNT.format(reason.value) for reason in group) for group in groups]
    with connection.cursor() as cursor:
        cursor.execute(EVIDENCE.format(counts=", ".join(counts)), [run_ids])
        accepted, rejected, skipped, *stored = cursor.fetchone()
    fresh = [sum(answers.get(reason, 0) for reason in group) for group in groups]
    of_groups = [old + new for old, new in zip(stored, fresh, strict=True)]
    return Evidence(accepted + answers.get("", 0), rejected + sum(fresh), skipped, *of_groups)
