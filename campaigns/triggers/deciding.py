"""Deciding: turns due triggers into messages or reasons not to send, hundreds per transaction.

If the process dies here: none of these triggers is decided, and none of their messages exists. Any
number of workers may decide at once: each takes triggers that no other has locked, and `LastSent`
lets only one of them send to a person.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import ExpressionWrapper, F, fields
from django.db.models.functions import Now

from campaigns.audiences.behavior.event import matching
from campaigns.failpoints import hit
from campaigns.runs.chunk import NEXT_SWEEP
from campaigns.runs.messages.accepting import UnknownRecipient, accept_ours
from campaigns.runs.messages.day import run_of_today
from campaigns.runs.run import Run
from campaigns.triggers.automation import A_DAY, Automation
from campaigns.triggers.trigger import NotSent, Trigger
from campaigns.triggers.unless_event import since
from notifications.values import exact

AT_ONCE = 500
TTL_SECONDS = A_DAY  # a message that could not be sent for a day is skipped as expired
MAX_TIMERS = 20
Place = tuple[int, int]  # an automation and a person


@dataclass(frozen=True)
class Due:
    """A due trigger that this transaction has locked."""

    id: int
    automation_id: int
    contact_id: int
    contact: str | None  # the external id
    happened_at: datetime
    due_at: datetime
    created_at: datetime
    properties: str

    @property
    def place(self) -> Place:
        return self.automation_id, self.contact_id


@dataclass(frozen=True)
class Decided:
    """How many triggers were decided, and how many of them send a message."""

    triggers: int
    sent: int


Answer = NotSent | tuple[int, int]  # a reason, or the run and number of the message

TAKE = """
SELECT t.id, t.automation_id, t.contact_id, c.external_id, t.happened_at, t.due_at,
    t.created_at, t.properties::text
FROM campaigns_trigger t LEFT JOIN notifications_contact c ON c.id = t.contact_id
WHERE t.state = 'waiting' AND t.due_at <= %s
ORDER BY t.due_at, t.id LIMIT %s FOR UPDATE OF t SKIP LOCKED
"""
# Locks the automations until the commit: once a pause returns, nothing more is sent.
HOLD = "SELECT FROM campaigns_automation WHERE id = ANY(%s) ORDER BY id FOR SHARE"
CAME = """
SELECT did.id
FROM unnest(%s::bigint[], %s::bigint[], %s::timestamptz[], %s::timestamptz[])
    AS did (id, contact_id, at, received_at)
WHERE EXISTS (
    SELECT FROM notifications_event e
    WHERE e.project_id = %s AND e.name = %s AND e.contact_id = did.contact_id
        AND e.at >= %s AND {since} AND {matches}
)
"""
# In one order, so that no two workers deadlock. A worker that waited sees the other's time.
MAY_SEND = """
INSERT INTO campaigns_lastsent AS last (automation_id, contact_id, sent_at)
SELECT given.automation, given.contact_id, %s
FROM unnest(%s::bigint[], %s::bigint[]) AS given (automation, contact_id)
ORDER BY given.contact_id, given.automation
ON CONFLICT (contact_id, automation_id) DO UPDATE
    SET sent_at = greatest(last.sent_at, EXCLUDED.sent_at)
    WHERE last.sent_at <= EXCLUDED.sent_at - make_interval(secs => (
        SELECT once_in_seconds FROM campaigns_automation WHERE id = last.automation_id
    ))
RETURNING automation_id, contact_id
"""
KEEP = """
UPDATE campaigns_trigger t
SET state = given.state, reason = given.reason, run_id = given.run_id, number = given.number,
    decided_at = %s, properties = '{}'
FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[])
    AS given (id, state, reason, run_id, number)
WHERE t.id = given.id
"""


def decide(now: datetime) -> Decided:
    """Decide up to AT_ONCE due triggers."""
    _open_days(now)
    with transaction.atomic():
        due = _take_due_triggers(now)
        if not due:
            return Decided(0, 0)
        answers = _decide_triggers(due, _hold_automations(due), now)
        _store_answers(answers, now)
        hit("before_decided")
    return Decided(len(due), sum(isinstance(answer, tuple) for answer in answers.values()))


def due_soon() -> list[float]:
    """The seconds until triggers come due before the next sweep; 0 for those already due."""
    waits = ExpressionWrapper(F("due_at") - Now(), output_field=fields.DurationField())
    waiting = Trigger.objects.filter(state=Trigger.State.WAITING, due_at__lt=Now() + NEXT_SWEEP)
    soon = waiting.order_by("due_at").values_list(waits, flat=True)[:MAX_TIMERS]
    return sorted({max(0.0, round(left.total_seconds(), 2)) for left in soon})


def _open_days(now: datetime) -> None:
    """Create the day's run and tables beforehand, not in the transaction that locks triggers."""
    due = Trigger.objects.filter(state=Trigger.State.WAITING, due_at__lte=now).order_by("due_at")
    projects = due.values_list("automation__project", flat=True)[:AT_ONCE]
    for project_id in set(projects):
        run_of_today(project_id)


def _take_due_triggers(now: datetime) -> list[Due]:
    with connection.cursor() as cursor:
        cursor.execute(TAKE, [now, AT_ONCE])
        return [Due(*row) for row in cursor.fetchall()]


def _hold_automations(due: list[Due]) -> dict[int, Automation]:
    ids = {trigger.automation_id for trigger in due}
    with connection.cursor() as cursor:
        cursor.execute(HOLD, [list(ids)])
    automations = Automation.objects.select_related("template", "category")
    return automations.in_bulk(list(ids))


def _decide_triggers(
    due: list[Due], automations: dict[int, Automation], now: datetime
) -> dict[int, Answer]:
    """The decisions by trigger id: the reason not to send, or the message."""
    answers: dict[int, Answer] = {}
    for trigger in due:
        if reason := _reason_not_to_send(trigger, automations[trigger.automation_id]):
            answers[trigger.id] = reason
    undecided = [trigger for trigger in due if trigger.id not in answers]
    for automation_id, group in _by_automation(undecided).items():
        for trigger_id in _cancelled_by_unless_event(automations[automation_id], group):
            answers[trigger_id] = NotSent.UNLESS_CAME
    undecided = [trigger for trigger in undecided if trigger.id not in answers]
    sendable = _sendable_ids(undecided, automations, now)
    answers |= {
        trigger.id: NotSent.WITHIN_WINDOW for trigger in undecided if trigger.id not in sendable
    }
    return answers | _send_messages(
        [trigger for trigger in undecided if trigger.id in sendable], automations
    )


def _reason_not_to_send(trigger: Due, automation: Automation) -> NotSent | None:
    if automation.state == Automation.State.ARCHIVED:
        return NotSent.ENDED
    if automation.state != Automation.State.ON:
        return NotSent.PAUSED
    # It waited and came due during a pause: the end of a pause must not send a heap of messages.
    if automation.on_since and max(trigger.due_at, trigger.created_at) < automation.on_since:
        return NotSent.PAUSED
    return NotSent.PERSON_GONE if trigger.contact is None else None


def _by_automation(due: Iterable[Due]) -> dict[int, list[Due]]:
    groups: dict[int, list[Due]] = defaultdict(list)
    for trigger in due:
        groups[trigger.automation_id].append(trigger)
    return groups


def _cancelled_by_unless_event(automation: Automation, due: list[Due]) -> list[int]:
    """The ids of triggers whose person caused the “unless” event since."""
    if not automation.unless_name:
        return []
    matches = matching(automation.unless_where)
    own = automation.unless_name == automation.event_name
    rows: list[Any] = [
        [trigger.id for trigger in due],
        [trigger.contact_id for trigger in due],
        [trigger.happened_at for trigger in due],
        [trigger.created_at for trigger in due],
    ]
    earliest = min(min(trigger.happened_at, trigger.created_at) for trigger in due)
    params: list[Any] = [automation.project_id, automation.unless_name, earliest]
    with connection.cursor() as cursor:
        cursor.execute(
            CAME.format(since=since(own=own), matches=matches.sql),
            [*rows, *params, *matches.params],
        )
        return [trigger_id for (trigger_id,) in cursor.fetchall()]


def _sendable_ids(due: list[Due], automations: dict[int, Automation], now: datetime) -> set[int]:
    """The ids of triggers that may send: a person's first within the window; without one, all."""
    first: dict[Place, int] = {}
    for trigger in due:
        first.setdefault(trigger.place, trigger.id)
    free = _take_free_places(list(first), now) if first else set()
    return {
        trigger.id
        for trigger in due
        if not automations[trigger.automation_id].once_in_seconds
        or (trigger.place in free and first[trigger.place] == trigger.id)
    }


def _take_free_places(places: list[Place], now: datetime) -> set[Place]:
    """The automation and person pairs without a message within the window; marks them as sent."""
    with connection.cursor() as cursor:
        cursor.execute(MAY_SEND, [now, *map(list, zip(*places, strict=True))])
        return set(cursor.fetchall())


def _send_messages(due: list[Due], automations: dict[int, Automation]) -> dict[int, Answer]:
    answers: dict[int, Answer] = {}
    by_project: dict[int, list[Due]] = defaultdict(list)
    for trigger in due:
        by_project[automations[trigger.automation_id].project_id].append(trigger)
    # Once per automation: freezing a text may look up its snippets.
    content = {
        pk: automations[pk].template.frozen() for pk in {trigger.automation_id for trigger in due}
    }
    for project_id, group in sorted(by_project.items()):
        requests = [
            _message_request(
                automations[trigger.automation_id], content[trigger.automation_id], trigger
            )
            for trigger in group
        ]
        for trigger, answer in zip(group, accept_ours(project_id, requests), strict=True):
            answers[trigger.id] = (
                NotSent.PERSON_GONE
                if isinstance(answer, UnknownRecipient)
                else _parse_message_id(answer.id)
            )
    return answers


def _message_request(
    automation: Automation, content: dict[str, Any], trigger: Due
) -> dict[str, Any]:
    """The message as an API call would ask for it. The event's properties win over the person's
    attributes."""
    return {
        "to": {"contact": trigger.contact},
        "content": content,
        "variables": exact.loads(trigger.properties),
        "category": automation.category,
        "on_unknown": Run.OnUnknown.RESEND,
        "ttl_seconds": TTL_SECONDS,
        "at": trigger.due_at,
    }


def _parse_message_id(message_id: str) -> tuple[int, int]:
    run_id, number = message_id.split("-")
    return int(run_id), int(number)


def _store_answers(answers: dict[int, Answer], now: datetime) -> None:
    rows = [(trigger, *_answer_columns(answer)) for trigger, answer in answers.items()]
    with connection.cursor() as cursor:
        cursor.execute(KEEP, [now, *map(list, zip(*rows, strict=True))])


def _answer_columns(answer: Answer) -> tuple[str, str, int | None, int | None]:
    if isinstance(answer, tuple):
        return Trigger.State.SENT, "", *answer
    return Trigger.State.NOT_SENT, answer, None, None
