"""First part (canary): wait, judge its results, then send to the rest or ask a person.

The wait begins once the whole first part has an outcome. Every step is decided from the rows alone,
so it may be called 0, 1 or n times.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from campaigns.canary import in_words, winner
from campaigns.canary.figures import figures_of
from campaigns.canary.first_part import FirstPart, held
from campaigns.canary.judgement import Terms, missed
from campaigns.failpoints import hit
from campaigns.runs import details, ledger
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.variants import split
from campaigns.runs.variants.group import MAIN
from campaigns.runs.variants.variant import check
from notifications.postgres import clock

Decision = FirstPart.Decision


def step(run: Run, part: FirstPart, now: datetime, *, sent: bool) -> None:
    """Take the next step of the first part: begin the wait, judge it, or release the rest.

    `sent`: the whole first part has an outcome. The caller has locked the run; it may be paused
    afterwards. If the process dies here: the step is rolled back, and the next call decides the
    same.
    """
    if {Cause.FIRST_PART, Cause.NO_WINNER} & set(run.overruled):
        tried = _count_variants(run)
        _send_as_planned(run, part, winner.find_winner(tried), so_far=winner.best(tried or []))
        part.let_go(Decision.PERSON, figures_of(part).as_dict(), now)
    elif sent and part.sent_at is None:
        FirstPart.objects.filter(pk=part.pk).update(sent_at=now)
    elif sent and _is_over(part, now):
        _judge_first_part(run, part, now)


def _is_over(part: FirstPart, now: datetime) -> bool:
    """Whether the wait has ended and the devices that can report are counted."""
    return part.judges_at is not None and part.judges_at <= now and part.known is not None


def _judge_first_part(run: Run, part: FirstPart, now: datetime) -> None:
    figures, terms = figures_of(part), Terms.of_run(run)
    judged = {"judged_at": now, "figures": figures.as_dict()}
    FirstPart.objects.filter(pk=part.pk).update(**judged)
    if wrong := missed(figures, terms):
        run.pause(Cause.FIRST_PART, in_words.detail_of(part.devices, figures, terms, wrong))
    else:
        _send_to_rest(run, part, now)
    hit("first_judged")


def _send_to_rest(run: Run, part: FirstPart, now: datetime) -> None:
    """Send to the rest, as the first part is good enough; or pause to ask for a winner.

    The rest gets the winning variant. Without a winner, the campaign's `no_winner` decides.
    """
    tried, decision = _count_variants(run), Decision.GOOD
    variant = winner.find_winner(tried)
    if run.tries_variants and run.winner is None and variant is None:
        if run.no_winner == Run.NoWinner.ASK:
            code = "no_winner_sure" if tried is not None else "no_winner_counted"
            run.pause(Cause.NO_WINNER, details.make(code))
            return
        decision = Decision.UNSURE
    _send_as_planned(run, part, variant)
    part.let_go(decision, figures_of(part).as_dict(), now)


def _count_variants(run: Run) -> list[winner.Tried] | None:
    return winner.tried(run, seconds=winner.COUNTING_SECONDS) if run.tries_variants else None


def _send_as_planned(run: Run, part: FirstPart, variant: int | None, so_far: int = MAIN) -> None:
    """Set what the rest gets: the winner, or without one what the campaign's `no_winner` says.

    If a person was asked and resumed without a choice, the rest gets the best variant so far.
    """
    if variant is None and run.no_winner == Run.NoWinner.SPLIT:
        _draw_variants_for_rest(run, part)
    elif variant is None and run.no_winner == Run.NoWinner.ASK:
        _choose(run, so_far)
    else:
        _choose(run, variant or MAIN)


def _draw_variants_for_rest(run: Run, part: FirstPart) -> None:
    """Give each person of the rest a random variant, as in the first part."""
    groups = split.split_of_run(run)
    if not run.tries_variants or run.winner is not None or groups is None:
        return
    table = ledger.partition("campaigns_recipient", run.pk)
    for seqs in part.ranges_of_rest():
        groups.try_out(table, seqs)
    run.split = {**run.split, **split.count_groups(table)}
    Run.objects.filter(pk=run.pk).update(split=run.split)


def _choose(run: Run, variant: int | None) -> None:
    """Set the variant for the rest, once and for good: a person may have been faster.

    The caller has locked the run, and releases the rest in the same transaction; if that rolls
    back, nothing was chosen.
    """
    if run.tries_variants and run.winner is None:
        Run.objects.filter(pk=run.pk, winner=None).update(winner=variant)
        run.winner = variant


def _best_variant_so_far(run: Run) -> int | None:
    """The best variant so far, for a person who names none.

    Raises Run.InvalidMove if the variants cannot be counted in time.
    """
    if not run.tries_variants or run.winner is not None:
        return None
    tried = winner.tried(run)  # within the time limit of a page
    if tried is None:
        raise Run.InvalidMove(gettext("The variants could not be counted in time. Name one."))
    return winner.best(tried)


def go_on(run: Run, variant: int | None = None) -> int:
    """Send to the rest without waiting for the first part's result; return to how many.

    They get `variant`, or the best one so far. Returns 0 if the run does not send or nobody waits.
    Raises Run.InvalidMove if the run tries no variants, or if none is named and they cannot be
    counted in time; ValidationError if it has no such variant.
    """
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        if variant is not None:
            check(locked, variant)
            if not locked.tries_variants:
                text = gettext("Each of the rest has a variant of their own already.")
                raise Run.InvalidMove(text)
        part = held(locked)
        if part is None or locked.state != Run.State.SENDING:
            return 0
        _choose(locked, _best_variant_so_far(locked) if variant is None else variant)
        return part.let_go(Decision.PERSON, figures_of(part).as_dict(), clock.now())
