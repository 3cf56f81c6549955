"""A call with receipts, read: those in order, and what is wrong with each of the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rest_framework.exceptions import ValidationError

from campaigns.engagement.receipt import BY_NAME, Report
from notifications.api.base import rendering
from notifications.keys.receipt_id import reference_of
from notifications.values.flaws import Flawed

ROWS = "receipts"
AT_ONCE = 500
MOST_BYTES = 64 * 1024  # of the longest there are
MOST_VALUES = 8 * AT_ONCE  # each has four: more take long to read, and are no receipts
FIELDS = ("id", "event", "at")
TIME = "Must be a text: a time in RFC 3339 with its offset, e.g. 2026-05-31T09:30:00Z."
NOT_OURS = "This id was not signed here. Send carillon_receipt of the message as it came."
EVENTS = f"Use one of {', '.join(BY_NAME)}."
WHOLE = {ROWS: f'Send {{"{ROWS}": […]}} with 1 to {AT_ONCE} of them, and nothing else.'}

Rejected = dict[str, Any]


@dataclass(frozen=True)
class Call:
    reports: list[Report] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    def answer(self) -> dict[str, Any]:
        """Of those that came before, too, it is said that they are taken: they are."""
        return {"accepted": len(self.reports), "rejected": self.rejected}


def parse_call(body: bytes) -> Call:
    """Raises ParseError or ValidationError for what is no call at all."""
    if sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise ValidationError(WHOLE)
    parsed = rendering.parse_json(body, ROWS)
    rows = parsed.get(ROWS) if isinstance(parsed, dict) and len(parsed) == 1 else None
    if not isinstance(rows, list) or not 0 < len(rows) <= AT_ONCE:
        raise ValidationError(WHOLE)
    call = Call()
    for index, row in enumerate(rows):
        result = _report(row)
        if isinstance(result, Report):
            call.reports.append(result)
        else:
            name, words = result
            call.rejected.append({"index": index, "field": name, "message": words})
    return call


def _report(row: Any) -> Report | tuple[str, str]:
    """Or the field at fault, and the fix."""
    if isinstance(row, Flawed):
        return next(iter(row.items()))
    if not isinstance(row, dict):
        return "", 'Must be an object, such as {"id": "…", "event": "opened"}.'
    if unknown := next((name for name in row if name not in FIELDS), None):
        return unknown[:80], f"Unknown field. Known: {', '.join(FIELDS)}."
    event, at = row.get("event"), row.get("at")
    if not isinstance(event, str) or event not in BY_NAME:
        return "event", EVENTS
    if not isinstance(at, str | None):
        return "at", TIME
    public_id = row.get("id")
    reference = reference_of(public_id) if isinstance(public_id, str) else None
    report = Report.parse(reference, BY_NAME[event], _moment(at)) if reference else None
    return report or ("id", NOT_OURS)


def _moment(text: str | None) -> datetime | None:
    """A text that is no time is as good as none: a clock that is broken costs no receipt."""
    try:
        moment = datetime.fromisoformat((text or "").upper())
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
