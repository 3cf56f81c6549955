"""The first part of a run: once all of it has an outcome, it is waited for, judged, and the rest
goes, or a person is asked. Decided from the rows alone, so it may be asked 0, 1 or n times.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from campaigns.failpoints import hit
from campaigns.first_part import in_words
from campaigns.first_part.figures import figures_of
from campaigns.first_part.first_part import FirstPart, held
from campaigns.first_part.judgement import Terms, missed
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.postgres import clock

Decision = FirstPart.Decision


def step(run: Run, part: FirstPart, now: datetime, *, sent: bool) -> None:
    """`sent`: all of it has an outcome. The caller holds the run; it may be paused afterwards.

    If the process dies here: nothing of the step remains, and the next call decides the same.
    """
    if Cause.FIRST_PART in run.overruled:
        part.let_go(Decision.PERSON, figures_of(part).as_dict(), now)
    elif sent and part.sent_at is None:
        FirstPart.objects.filter(pk=part.pk).update(sent_at=now)
    elif sent and _is_over(part, now):
        _judge(run, part, now)


def _is_over(part: FirstPart, now: datetime) -> bool:
    """The wait; and it is counted who can tell."""
    return part.judges_at is not None and part.judges_at <= now and part.known is not None


def _judge(run: Run, part: FirstPart, now: datetime) -> None:
    figures, terms = figures_of(part), Terms.of(run)
    judged = {"judged_at": now, "figures": figures.as_dict()}
    FirstPart.objects.filter(pk=part.pk).update(**judged)
    if wrong := missed(figures, terms):
        run.pause(Cause.FIRST_PART, in_words.detail_of(part.devices, figures, terms, wrong))
    else:
        part.let_go(Decision.GOOD, figures.as_dict(), now)
    hit("first_judged")


def go_on(run: Run) -> int:
    """A person does not wait for it: to how many of the rest it goes now. Raises nothing: 0 if the
    run does not send, or nobody waits."""
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        part = held(locked)
        if part is None or locked.state != Run.State.SENDING:
            return 0
        return part.let_go(Decision.PERSON, figures_of(part).as_dict(), clock.now())
