"""Send a test: render it for its devices, send it at the project's pace, store FCM's answers.

Each device is sent to once: a silent second try would hide FCM's first answer. If the process dies
here: devices whose request was on its way stay `sending`, and the sweep calls them unknown; for
those that wait, the sweep enqueues the task again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from campaigns.runs.claiming import KEPT_FROM
from campaigns.runs.reasons import Reason
from campaigns.sending.in_flight import heard_in
from campaigns.test_sends.models import DeviceTest, SentTest
from campaigns.texts.rendering import Reader, Renderer, Unrenderable
from notifications.dispatch import dispatch, gateway_of
from notifications.gateway import Arrived, BadCredentials, Gateway, Outcome, Permit, Push, Verdict
from notifications.pacing import gate
from notifications.pacing.fcm_signals import AnswerCounts
from notifications.people.consent import eligibility
from notifications.people.contact import Contact
from notifications.values import exact

Status = DeviceTest.Status
START_SECONDS = 20.0
ANSWER_SECONDS = 45.0  # of a batch: what FCM itself may take, and a fresh token
PACE_PATIENCE = timedelta(minutes=2)  # then the devices that still wait are skipped
LONGEST_PAUSE = 1.0  # seconds: a cold gate opens within them; then other tasks need this worker
LOST_AFTER = timedelta(seconds=60)  # well over the time that FCM's answer may take
ENQUEUED_AGAIN_AFTER = timedelta(seconds=5)  # by then the first task has begun, or is lost
LONGEST_RAW = 4_000


def send_test(test_id: int, now: datetime) -> None:
    """Send to the devices that may be sent to now. For the others, the sweep enqueues it again."""
    test = SentTest.objects.select_related("project").filter(pk=test_id).first()
    waiting = DeviceTest.objects.filter(test=test_id, status=Status.WAITING)
    if test is None or not waiting.exists():
        return
    try:
        gateway = gateway_of(test.project)
    except BadCredentials as error:
        ends = {"status": Status.REJECTED, "reason": "bad_credentials", "detail": str(error)[:500]}
        waiting.update(**ends, at=now)
        return
    if not _send_all(test, gateway, waiting, now) and test.at < now - PACE_PATIENCE:
        waiting.update(status=Status.SKIPPED, reason=Reason.THROTTLED, at=now)


def _send_all(
    test: SentTest, gateway: Gateway, waiting: QuerySet[DeviceTest], now: datetime
) -> bool:
    """Send at the project's pace. Returns False if the pace lets nothing more through now."""
    pace, answers = gate.Gate(test.project, reference=test.reference, lane="urgent"), AnswerCounts()
    paused = 0.0
    while count := waiting.count():
        grant = pace.take(count, answers)
        answers = AnswerCounts()
        if grant.granted:
            answers = heard_in(_send(test, gateway, grant.granted, now))
        elif paused + grant.wait > LONGEST_PAUSE:
            return False
        else:
            time.sleep(grant.wait)
            paused += grant.wait
    pace.take(0, answers)  # tells all other senders what FCM answered
    return True


def _send(test: SentTest, gateway: Gateway, most: int, now: datetime) -> list[Outcome]:
    rows = _claim(test, most, now)
    pushes = _render(test, rows)
    if not pushes:
        return []
    permit = Permit(START_SECONDS)
    future = dispatch(gateway, [push for push, _ in pushes], permit)
    try:
        outcomes = future.result(timeout=ANSWER_SECONDS)
    except BadCredentials as error:  # raised before anything left
        for _, row in pushes:
            _end(row, Status.REJECTED, "bad_credentials", str(error))
        outcomes = []
    finally:
        permit.withdraw()
    by_reference = {push.reference: row for push, row in pushes}
    for outcome in outcomes:
        _store_answer(by_reference[outcome.reference], outcome)
    return outcomes


# An ARRAY, not `IN (SELECT …)`: PostgreSQL may run that once for each row, and takes more devices.
CLAIM = """
UPDATE campaigns_devicetest SET status = 'sending', at = %(now)s WHERE id = ANY(ARRAY(
    SELECT id FROM campaigns_devicetest WHERE test_id = %(test)s AND status = 'waiting'
    ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED
)) RETURNING id
"""
# `out` is the reason to send nothing, by the same rule as a campaign's.
READ = f"""
SELECT r.id, {KEPT_FROM} AS out, c.external_id, c.attributes, c.locale, c.timezone, d.kind,
    d.address, d.platform
FROM campaigns_devicetest r
LEFT JOIN notifications_device d ON d.id = r.device_id
LEFT JOIN notifications_contact c ON c.id = r.contact_id
{eligibility.JOIN}
WHERE r.id = ANY(%(rows)s) ORDER BY r.id
"""


@dataclass(frozen=True)
class Target:
    """A device to send to, with what is known of its contact now."""

    pk: int
    out: str
    external_id: str
    attributes: str
    locale: str
    timezone: str
    kind: str
    address: str
    platform: str


def _claim(test: SentTest, most: int, now: datetime) -> list[Target]:
    """Take up to `most` waiting devices: a second task finds them taken from this commit on."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CLAIM, {"test": test.pk, "most": most, "now": now})
        ids = [row[0] for row in cursor.fetchall()]
    asks: dict[str, Any] = eligibility.skip_reason_params(test.category_kind, test.category)
    with connection.cursor() as cursor:
        cursor.execute(READ, {"rows": ids, **asks})
        return [Target(*row) for row in cursor.fetchall()]


def _render(test: SentTest, rows: list[Target]) -> list[tuple[Push, Target]]:
    """Return what may be sent. Other devices end here, with the reason."""
    renderer = Renderer(test.content, collapse_id=f"carillon-{test.reference}", mark="is_test")
    values = Contact.objects.filter(pk=test.reads_as).first() if test.reads_as else None
    pushes = []
    for row in rows:
        try:
            if row.out:
                raise Unrenderable(Reason(row.out), "")
            push = renderer.render(_reader(test, row, values), ttl_seconds=test.ttl_seconds)
            pushes.append((push, row))
        except Unrenderable as problem:
            status = Status.REJECTED if problem.rejected else Status.SKIPPED
            _end(row, status, problem.reason, problem.stored_detail)
    return pushes


def _reader(test: SentTest, row: Target, values: Contact | None) -> Reader:
    """Return this device's address, with the values of its contact or of `values`."""
    own = exact.loads(row.attributes) if isinstance(row.attributes, str) else row.attributes
    return Reader(
        reference=f"{test.reference}:{row.pk}",
        external_id=values.external_id if values else row.external_id,
        attributes=values.attributes if values else own or {},
        locale=test.locale or (values.locale if values else row.locale),
        timezone=values.timezone if values else row.timezone,
        kind=row.kind,
        address=row.address,
        platform=row.platform,
    )


def _store_answer(row: Target, outcome: Outcome) -> None:
    ours = DeviceTest.objects.filter(pk=row.pk, status=Status.SENDING)
    if outcome.verdict is Verdict.UNSENT:  # FCM told the whole project to wait
        ours.update(status=Status.WAITING)
        return
    ours.update(
        status=_status_of(outcome),
        reason=outcome.reason[:50],
        detail=_storable(outcome.detail, 500),
        http=HTTPStatus.OK if outcome.verdict is Verdict.ACCEPTED else outcome.http,
        code=_storable(outcome.code, 50),
        raw=_storable(outcome.raw.decode(errors="replace"), LONGEST_RAW),
        message_id=_storable(outcome.message_id, 200),
        seconds=outcome.seconds,
    )


def _status_of(outcome: Outcome) -> str:
    if outcome.verdict is Verdict.ACCEPTED:
        return Status.ACCEPTED
    return Status.REJECTED if outcome.arrived is Arrived.NO else Status.UNKNOWN


def _end(row: Target, status: str, reason: str, detail: str) -> None:
    ours = DeviceTest.objects.filter(pk=row.pk, status=Status.SENDING)
    ours.update(status=status, reason=reason, detail=_storable(detail, 500))


def _storable(text: str, most: int) -> str:
    """FCM may answer anything, and PostgreSQL stores no NUL."""
    return text.replace("\x00", "")[:most]


def sweep(now: datetime) -> list[int]:
    """End devices that a dead worker left, or that waited too long. Returns the tests to enqueue
    again: their task was lost, or the pace let nothing through."""
    lost = Q(status=Status.SENDING, at__lt=now - LOST_AFTER)
    DeviceTest.objects.filter(lost).update(status=Status.UNKNOWN, reason=Reason.INTERRUPTED)
    waiting = DeviceTest.objects.filter(status=Status.WAITING)
    # Nobody expects it any more: phones must not ring when the workers are back tomorrow.
    late = waiting.filter(test__at__lt=now - 2 * PACE_PATIENCE)
    late.update(status=Status.SKIPPED, reason=Reason.EXPIRED, at=now)
    due = waiting.filter(test__at__lt=now - ENQUEUED_AGAIN_AFTER)
    return sorted(set(due.values_list("test", flat=True)[:1_000]))
