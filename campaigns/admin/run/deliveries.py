"""The recipients of a run on a page: filtered, a hundred at a time by their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _

from campaigns.results import recipients
from campaigns.results.reason_steps import STEPS
from campaigns.results.recipients import WAITING, Filters, Row
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason, in_words
from campaigns.runs.run import Run
from notifications.people.device import Device, shortened

PAGE = 100


@dataclass(frozen=True)
class Shown:
    """A row with its codes in words."""

    row: Row
    status: str
    reason: str
    platform: str
    address: str


def filters_of(query: QueryDict) -> Filters:
    """What the address asks for; nonsense asks for nothing."""
    return Filters(
        status=_one_of(query, "status", [*Delivery.Status.values, WAITING]),
        reason=_one_of(query, "reason", Reason.values),
        platform=_one_of(query, "platform", Device.Platform.values),
        person=query.get("person", "").strip()[:200],
        chunk=number(query.get("chunk", "")),
        resent=query.get("resent") == "1",
    )


def page(run: Run, query: QueryDict) -> dict[str, Any]:
    filters, after = filters_of(query), number(query.get("after", ""))
    found = recipients.page(run, filters, after=after or 0, limit=PAGE + 1)
    asked = _asked(filters)
    return {
        "rows": [_shown(row) for row in found[:PAGE]],
        "filters": filters,
        "statuses": [*Delivery.Status.choices, (WAITING, _("Waiting"))],
        "reasons": Reason.choices,
        "platforms": Device.Platform.choices,
        "next_step": STEPS.get(filters.reason, ""),
        "asked": asked,
        "first_page": after is None,
        "next_url": f"?{urlencode({**asked, 'after': found[PAGE - 1].seq})}"
        if len(found) > PAGE
        else "",
        "first_url": f"?{urlencode(asked)}",
        "csv_query": urlencode(asked),
    }


def _shown(row: Row) -> Shown:
    return Shown(
        row,
        status=str(Delivery.Status(row.status).label) if row.status != WAITING else _("Waiting"),
        reason=in_words(row.reason),
        platform=str(Device.Platform(row.platform).label) if row.platform else "",
        address=shortened(row.address or ""),
    )


def _asked(filters: Filters) -> dict[str, str]:
    """The filters as an address carries them, without the empty ones."""
    given = {
        "status": filters.status,
        "reason": filters.reason,
        "platform": filters.platform,
        "person": filters.person,
        "chunk": "" if filters.chunk is None else str(filters.chunk),
        "resent": "1" if filters.resent else "",
    }
    return {name: value for name, value in given.items() if value}


def _one_of(query: QueryDict, name: str, allowed: list[str]) -> str:
    value = query.get(name, "")
    return value if value in allowed else ""


def number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
