"""Claiming and settling: choose the calls to make next, and store the result of each try.

A claim moves a call's next due time past the longest try. If a process dies with it, another one
sends the call by the same name. `tries` is the fence: the result of an older try is not written.

While an endpoint accepts nothing, one call at a time tries it, ever more seldom. The others wait,
and the first call that is accepted brings all of them forward.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from notifications.webhooks import outbox
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.transports.https_post import Answer

UNDER_WAY = timedelta(seconds=40)  # longer than any try: resolving, connecting, answering
ONE_A_SECOND = timedelta(seconds=1)
AT_ONCE = 16  # calls under way to one endpoint that is well
FAILS = 5  # in a row: the endpoint is in trouble, not one call
GIVEN_UP_AFTER = timedelta(days=5)
SECONDS = (5, 15, 60, 300, 900, 3_600, 7_200, 14_400, 28_800)  # between two tries of a call
LONGEST_REST = timedelta(minutes=5)
LONGEST_ASKED = 3_600.0  # seconds: the longest pause that a receiver can ask for


@dataclass(frozen=True)
class Tried:
    """A call and the result of one try."""

    call: Call
    answer: Answer


# --- Claiming -------------------------------------------------------------------------------------


def waiting(now: datetime) -> bool:
    """Whether there is anything to do at this moment."""
    return outbox.ripe(now).exists() or _due_endpoints(now).exists()


def claim(*, now: datetime, room: int, under_way: Collection[Call]) -> list[Call]:
    """Claim due calls, at most `room`, fairly among endpoints. `under_way`: this process's calls.

    Endpoints with the fewest calls under way come first, and a project gets at most half of the
    room: however slowly one receiver answers, the others' calls go on.

    If the process dies here: they are due again after UNDER_WAY.
    """
    of_endpoint = Counter(call.endpoint_id for call in under_way)
    of_project = Counter(call.endpoint.project_id for call in under_way)
    half = (room + len(under_way)) // 2
    claimed: list[Call] = []
    due = _due_endpoints(now).order_by("rests_until", "pk").values_list("pk", "project_id")
    for endpoint_id, project_id in sorted(due, key=lambda one: of_endpoint[one[0]]):
        theirs = half - of_project[project_id]
        most = min(AT_ONCE - of_endpoint[endpoint_id], theirs, room - len(claimed))
        if most > 0:
            calls = _claim(endpoint_id, most, now)
            of_project[project_id] += len(calls)
            claimed += calls
    return claimed


def _due_calls(now: datetime) -> QuerySet[Call]:
    return Call.objects.filter(state=Call.State.WAITING, next_at__lte=now)


def _due_endpoints(now: datetime) -> QuerySet[Endpoint]:
    """Endpoints with due calls. A test goes to a disabled or resting one, too: a person waits."""
    calls = _due_calls(now).filter(endpoint=OuterRef("pk"))
    ready = Q(disabled_at=None) & (Q(rests_until=None) | Q(rests_until__lte=now))
    return Endpoint.objects.filter((ready & Exists(calls)) | Exists(calls.filter(is_test=True)))


def _claim(endpoint_id: int, most: int, now: datetime) -> list[Call]:
    with transaction.atomic():
        free = Endpoint.objects.select_for_update(skip_locked=True, no_key=True)
        endpoint = free.select_related("project").filter(pk=endpoint_id).first() if most else None
        if endpoint is None:  # another process has locked it, or it was deleted
            return []
        calls = _due_calls(now).filter(endpoint=endpoint)
        if not _is_ready(endpoint, now):
            calls = calls.filter(is_test=True)
        elif endpoint.failures >= FAILS or endpoint.paced:
            most = 1
            pause = UNDER_WAY if endpoint.failures >= FAILS else ONE_A_SECOND
            Endpoint.objects.filter(pk=endpoint.pk).update(rests_until=now + pause)
        ids = list(calls.order_by("next_at", "pk").values_list("pk", flat=True)[:most])
        ours = Call.objects.filter(pk__in=ids)
        ours.update(next_at=now + UNDER_WAY, tries=F("tries") + 1, tried_at=now)
        claimed = list(ours.order_by("pk"))
    for call in claimed:
        call.endpoint = endpoint
    return claimed


def _is_ready(endpoint: Endpoint, now: datetime) -> bool:
    rests = endpoint.rests_until is not None and endpoint.rests_until > now
    return endpoint.disabled_at is None and not rests


# --- Settling -------------------------------------------------------------------------------------


def settle(tried: Sequence[Tried], *, now: datetime) -> None:
    """Store the results of tries, those of an endpoint together.

    If the process dies before: they are due again, and the receiver knows them by their names.
    """
    by_endpoint: dict[int, list[Tried]] = {}
    for try_ in tried:
        by_endpoint.setdefault(try_.call.endpoint_id, []).append(try_)
    for endpoint_id in sorted(by_endpoint):
        with transaction.atomic():
            locked = Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint_id).first()
            for try_ in by_endpoint[endpoint_id]:
                _write(try_, now)
            if locked is not None:
                _update_endpoint(locked, by_endpoint[endpoint_id], now)


def _write(one: Tried, now: datetime) -> None:
    call, answer = one.call, one.answer
    state, next_at = Call.State.ACCEPTED, now
    if not answer.accepted:
        off = call.is_test and call.endpoint.disabled_at is not None  # nobody tries it again
        over = now >= call.gives_up_at or answer.gone or off
        state = Call.State.FAILED if over else Call.State.WAITING
        next_at = min(_next(call, answer, now), max(now, call.gives_up_at))
    Call.objects.filter(pk=call.pk, tries=call.tries, state=Call.State.WAITING).update(
        state=state,
        next_at=next_at,
        took_ms=answer.took_ms,
        status=answer.status,
        answer=answer.text,
        error=answer.error,
    )


def _next(call: Call, answer: Answer, now: datetime) -> datetime:
    """When to try again: ever later, not all at once, and not before the receiver asks for it."""
    seconds = SECONDS[min(call.tries, len(SECONDS)) - 1] * random.uniform(0.8, 1.2)
    return now + max(timedelta(seconds=seconds), _requested_rest(answer))


def _requested_rest(answer: Answer) -> timedelta:
    return timedelta(seconds=min(answer.retry_after or 0.0, LONGEST_ASKED))


def _update_endpoint(endpoint: Endpoint, tried: list[Tried], now: datetime) -> None:
    """Update the endpoint's state from these tries.

    A test counts only if it is accepted: a person looks at a failed one.
    """
    if any(try_.answer.accepted for try_ in tried):
        _mark_well(endpoint, now)
        return
    answers = [try_.answer for try_ in tried if not try_.call.is_test]
    if answers:
        _mark_failing(endpoint, answers, now)


def _mark_well(endpoint: Endpoint, now: datetime) -> None:
    recovered = endpoint.failures >= FAILS
    values = {"answered_at": now, "failing_since": None, "failures": 0}
    if recovered:
        values["rests_until"] = None
    Endpoint.objects.filter(pk=endpoint.pk).update(**values)
    if recovered:
        waiting = Call.objects.filter(endpoint=endpoint, state=Call.State.WAITING)
        under_way = Q(tried_at__isnull=False, next_at=F("tried_at") + UNDER_WAY)  # set by `_claim`
        waiting.filter(next_at__gt=now).exclude(under_way).update(next_at=now)


def _mark_failing(endpoint: Endpoint, answers: list[Answer], now: datetime) -> None:
    since = endpoint.failing_since or now
    failures = endpoint.failures + len(answers)
    rest = max(map(_requested_rest, answers))
    if failures >= FAILS:
        rest = max(rest, min(LONGEST_REST, max(ONE_A_SECOND, (now - since) / 4)))
    elif endpoint.paced:
        rest = max(rest, ONE_A_SECOND)
    Endpoint.objects.filter(pk=endpoint.pk).update(
        failing_since=since, failures=failures, rests_until=now + rest if rest else None
    )
    is_gone = any(answer.gone for answer in answers)
    if is_gone or now - since >= GIVEN_UP_AFTER:
        _disable(endpoint, Endpoint.Why.GONE if is_gone else Endpoint.Why.FAILING, now)


def _disable(endpoint: Endpoint, why: Endpoint.Why, now: datetime) -> None:
    if endpoint.disable(why, now=now):
        outbox.report_disabled_endpoint(endpoint, why, at=now)


def give_up_old(*, now: datetime) -> int:
    """Mark old waiting calls of disabled endpoints as failed: nobody tries them any more."""
    old = Call.objects.filter(state=Call.State.WAITING, gives_up_at__lt=now - UNDER_WAY)
    off = Endpoint.objects.filter(disabled_at__isnull=False)
    return old.filter(endpoint__in=off).update(state=Call.State.FAILED)
