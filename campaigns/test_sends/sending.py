"""A worker's part: what waits of a test is rendered, sent through the project's gateway at its
pace, and written down with FCM's own words.

A device is asked about once: a test that was tried again in secret would show another answer than
FCM gave. If the process dies here: those on their way stay `sending`, and the sweep calls them
unknown; those that wait are rung for again.
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
from campaigns.test_sends.sent_test import DeviceTest, SentTest
from campaigns.test_sends.telling import LOST_AFTER
from campaigns.texts.rendering import Reader, Renderer, Unrenderable
from notifications.dispatch import dispatch, gateway_of
from notifications.gateway import Arrived, BadCredentials, Gateway, Outcome, Permit, Push, Verdict
from notifications.pace import gate
from notifications.pace.heard import Heard
from notifications.people.consent import standing
from notifications.people.contact import Contact
from notifications.values import exact

Status = DeviceTest.Status
START_SECONDS = 20.0
ANSWER_SECONDS = 45.0  # of a batch: what FCM itself may take, and a fresh token
WORTH_WAITING = timedelta(minutes=2)  # then it is told that nothing was let through
MOST_REST = 1.0  # seconds: a cold gate opens within them, and then others need this worker
RUNG_AFTER = timedelta(seconds=5)  # by then the first doorbell was heard, or lost
LONGEST_RAW = 4_000


def work(test_id: int, now: datetime) -> None:
    """Send what may leave now. What must wait is rung for by the sweep."""
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
    if not _send_all(test, gateway, waiting, now) and test.at < now - WORTH_WAITING:
        waiting.update(status=Status.SKIPPED, reason=Reason.THROTTLED, at=now)


def _send_all(
    test: SentTest, gateway: Gateway, waiting: QuerySet[DeviceTest], now: datetime
) -> bool:
    """At the project's pace. False: the gate is shut to those who still wait."""
    pace, heard = gate.Gate(test.project, reference=test.reference, lane="urgent"), Heard()
    rested = 0.0
    while count := waiting.count():
        grant = pace.take(count, heard)
        heard = Heard()
        if grant.granted:
            heard = heard_in(_send(test, gateway, grant.granted, now))
        elif rested + grant.wait > MOST_REST:
            return False
        else:
            time.sleep(grant.wait)
            rested += grant.wait
    pace.take(0, heard)  # news to everybody else who sends
    return True


def _send(test: SentTest, gateway: Gateway, most: int, now: datetime) -> list[Outcome]:
    rows = _claimed(test, most, now)
    pushes = _pushes(test, rows, now)
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
        _write(by_reference[outcome.reference], outcome)
    return outcomes


CLAIM = """
UPDATE campaigns_devicetest SET status = 'sending', at = %(now)s WHERE id IN (
    SELECT id FROM campaigns_devicetest WHERE test_id = %(test)s AND status = 'waiting'
    ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED
) RETURNING id
"""
# With the rule of a campaign's window, who may be sent to and who is out.
READ = f"""
SELECT r.id, {KEPT_FROM} AS out, c.external_id, c.attributes, c.locale, c.timezone, d.kind,
    d.address, d.platform
FROM campaigns_devicetest r
LEFT JOIN notifications_device d ON d.id = r.device_id
LEFT JOIN notifications_contact c ON c.id = r.contact_id
{standing.JOIN}
WHERE r.id = ANY(%(rows)s) ORDER BY r.id
"""


@dataclass(frozen=True)
class Asked:
    """A device to be sent to, and what is known of its person now."""

    pk: int
    out: str
    external_id: str
    attributes: str
    locale: str
    timezone: str
    kind: str
    address: str
    platform: str


def _claimed(test: SentTest, most: int, now: datetime) -> list[Asked]:
    """Ours from this commit on: a second doorbell finds them taken."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CLAIM, {"test": test.pk, "most": most, "now": now})
        ids = [row[0] for row in cursor.fetchall()]
    asks: dict[str, Any] = standing.asked_of(test.category_kind, test.category)
    with connection.cursor() as cursor:
        cursor.execute(READ, {"rows": ids, **asks})
        return [Asked(*row) for row in cursor.fetchall()]


def _pushes(test: SentTest, rows: list[Asked], now: datetime) -> list[tuple[Push, Asked]]:
    """What may be sent; whoever gets nothing is written down."""
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
            _end(row, status, problem.reason, problem.kept)
    return pushes


def _reader(test: SentTest, row: Asked, values: Contact | None) -> Reader:
    """On this device, but as whoever's values are asked for would read it."""
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


def _write(row: Asked, outcome: Outcome) -> None:
    ours = DeviceTest.objects.filter(pk=row.pk, status=Status.SENDING)
    if outcome.verdict is Verdict.UNSENT:  # FCM told the whole project to wait: so does the test
        ours.update(status=Status.WAITING)
        return
    ours.update(
        status=_status_of(outcome),
        reason=outcome.reason[:50],
        detail=_kept(outcome.detail, 500),
        http=HTTPStatus.OK if outcome.verdict is Verdict.ACCEPTED else outcome.http,
        code=_kept(outcome.code, 50),
        raw=_kept(outcome.raw.decode(errors="replace"), LONGEST_RAW),
        message_id=_kept(outcome.message_id, 200),
        seconds=outcome.seconds,
    )


def _status_of(outcome: Outcome) -> str:
    if outcome.verdict is Verdict.ACCEPTED:
        return Status.ACCEPTED
    return Status.REJECTED if outcome.arrived is Arrived.NO else Status.UNKNOWN


def _end(row: Asked, status: str, reason: str, detail: str) -> None:
    ours = DeviceTest.objects.filter(pk=row.pk, status=Status.SENDING)
    ours.update(status=status, reason=reason, detail=_kept(detail, 500))


def _kept(text: str, most: int) -> str:
    """PostgreSQL keeps no NUL, and FCM may say anything."""
    return text.replace("\x00", "")[:most]


def look_after(now: datetime) -> list[int]:
    """Call unknown what a worker that died left on its way. The tests of which something waits: for
    a doorbell that was lost, or for the gate."""
    lost = Q(status=Status.SENDING, at__lt=now - LOST_AFTER)
    DeviceTest.objects.filter(lost).update(status=Status.UNKNOWN, reason=Reason.INTERRUPTED)
    waiting = DeviceTest.objects.filter(status=Status.WAITING)
    # Nobody expects it any more: a phone must not ring when the workers are back tomorrow.
    late = waiting.filter(test__at__lt=now - 2 * WORTH_WAITING)
    late.update(status=Status.SKIPPED, reason=Reason.EXPIRED, at=now)
    due = waiting.filter(test__at__lt=now - RUNG_AFTER)
    return sorted(set(due.values_list("test", flat=True)[:1_000]))
