"""Recipients of a run, filtered: a hundred per page, or all in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from campaigns.engagement.receipt import BY_NAME
from campaigns.results import recipients
from campaigns.results.reason_steps import STEPS, detail_in_words
from campaigns.results.recipients import MISSED, NOT_OPENED, TOLD, WAITING, Filters, Row
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Reason, in_words
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.run import Run
from campaigns.runs.variants import group, split
from notifications.people.device import Device, shortened

PAGE = 100


@dataclass(frozen=True)
class Shown:
    """A recipient, with its codes in words."""

    row: Row
    status: str
    reason: str
    detail: str
    platform: str
    address: str
    group: str  # if the run was split


def page_view(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("project", "campaign"), pk=run_id)
    context = {
        **site.each_context(request),
        **_page_context(run, request.GET),
        "title": _("Recipients"),
        "opts": Run._meta,
        "original": run,
        "run": run,
        "zone": run.project.timezone,
    }
    return TemplateResponse(request, "admin/campaigns/run/deliveries.html", context)


def csv_view(request: HttpRequest, run_id: int) -> Any:
    """The recipients as a CSV file, with the page's filters."""
    run = get_object_or_404(Run, pk=run_id)
    name = f"run-{run.pk}-recipients.csv"
    return StreamingHttpResponse(
        recipients.csv_lines(run, _read_filters(request.GET)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _read_filters(query: QueryDict) -> Filters:
    """The filters of the query. Ignores bad values."""
    return Filters(
        status=_read_choice(query, "status", [*Delivery.Status.values, MISSED, WAITING]),
        reason=_read_choice(query, "reason", Reason.values),
        platform=_read_choice(query, "platform", Device.Platform.values),
        person=query.get("person", "").strip()[:200],
        chunk=number(query.get("chunk", "")),
        resent=query.get("resent") == "1",
        reported=_read_choice(query, "told", [*TOLD, NOT_OPENED]),
        revision=number(query.get("revision", "")) or None,
        variant=group.NUMBERS.get(query.get("variant", "")),
    )


def _page_context(run: Run, query: QueryDict) -> dict[str, Any]:
    filters, after = _read_filters(query), number(query.get("after", ""))
    rows = recipients.page(run, filters, after=after or 0, limit=PAGE + 1)
    params = _query_params(filters)
    return {
        "rows": [_describe_row(row) for row in rows[:PAGE]],
        "filters": filters,
        "statuses": [
            *Delivery.Status.choices,
            (MISSED, _("Rejected, skipped or unknown")),
            (WAITING, _("Waiting")),
        ],
        "told": _told_choices(),
        "revisions": range(FIRST, run.revision + 1) if run.revision > FIRST else (),
        "groups": [
            (group.name_of(number_of_group), group.in_words(number_of_group))
            for number_of_group in split.groups(run)
        ],
        "reasons": Reason.choices,
        "platforms": Device.Platform.choices,
        "next_step": STEPS.get(filters.reason, ""),
        "asked": params,
        "first_page": after is None,
        "next_url": f"?{urlencode({**params, 'after': rows[PAGE - 1].seq})}"
        if len(rows) > PAGE
        else "",
        "first_url": f"?{urlencode(params)}",
        "csv_query": urlencode(params),
    }


def _told_choices() -> list[tuple[str, Any]]:
    steps: list[tuple[str, Any]] = [(name, BY_NAME[name].label) for name in TOLD]
    return [*steps, (NOT_OPENED, _("Accepted, and not known to have opened it"))]


def _describe_row(row: Row) -> Shown:
    return Shown(
        row,
        status=str(Delivery.Status(row.status).label) if row.status != WAITING else _("Waiting"),
        reason=in_words(row.reason),
        detail=detail_in_words(row.reason, row.detail),
        platform=str(Device.Platform(row.platform).label) if row.platform else "",
        address=shortened(row.address or ""),
        group="" if row.variant is None else group.in_words(row.variant),
    )


def _query_params(filters: Filters) -> dict[str, str]:
    """The filters as query parameters, without empty ones."""
    params = {
        "status": filters.status,
        "reason": filters.reason,
        "platform": filters.platform,
        "person": filters.person,
        "chunk": "" if filters.chunk is None else str(filters.chunk),
        "resent": "1" if filters.resent else "",
        "told": filters.reported,
        "revision": "" if filters.revision is None else str(filters.revision),
        "variant": group.name_of(filters.variant),
    }
    return {name: value for name, value in params.items() if value}


def _read_choice(query: QueryDict, name: str, allowed: list[str]) -> str:
    value = query.get(name, "")
    return value if value in allowed else ""


def number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
