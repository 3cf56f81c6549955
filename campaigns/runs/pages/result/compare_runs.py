"""Comparison of a run with up to four others: the results of each.

With the first of the others, also which people joined, left, or were in both."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from campaigns.results import compare
from campaigns.results.compare import Counts, Who
from campaigns.runs.pages.deliveries import number
from campaigns.runs.pages.result import side_by_side
from campaigns.runs.pages.result.side_by_side import Cell
from campaigns.runs.run import Run
from notifications.admin.ui.keyset import row_id
from notifications.postgres.budget import Busy, TooSlow, slow_query_slot

PAGE = 100
OFFERED = 50  # runs to choose from
MOST = 4  # runs beside this one: no screen has room for more


def compare_view(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("project", "campaign"), pk=run_id)
    context = {
        **site.each_context(request),
        **_picture(run, request),
        "title": _("Compare runs"),
        "opts": Run._meta,
        "original": run,
        "zone": run.project.timezone,
    }
    return TemplateResponse(request, "admin/campaigns/run/compare.html", context)


def _picture(run: Run, request: HttpRequest) -> dict[str, Any]:
    run_ids = request.GET.getlist("with")[:MOST]
    other = _first_other(run, number(run_ids[0] if run_ids else ""))
    more = _other_runs(run, other, run_ids[1:])
    offered = list(compare.comparable(run)[:OFFERED])
    offered += [candidate for candidate in (other, *more) if candidate and candidate not in offered]
    context: dict[str, Any] = {
        "run": run, "other": other, "offered": offered, "more": _places(more),
    }  # fmt: skip
    if other:
        runs = [run, other, *more]
        context |= {"beside": runs, "rows": _sides(runs)}
    if other is None or not (compare.is_comparable(run) and compare.is_comparable(other)):
        return context
    newer, older = (run, other) if run.pk > other.pk else (other, run)
    context |= {"newer": newer, "older": older}
    try:
        with slow_query_slot(run.project_id):
            return context | _compare(newer, older, other, request)
    except (TooSlow, Busy):
        return context | {"too_slow": True}


def _sides(runs: list[Run]) -> list[tuple[str, list[tuple[Run, Cell]]]]:
    """Each step, with each run's number."""
    rows = side_by_side.rows(runs)
    return [(row.label, list(zip(runs, row.cells, strict=True))) for row in rows]


def _first_other(run: Run, pk: int | None) -> Run | None:
    """The requested run, if it is comparable; without a request, the one before."""
    if pk is None:
        return compare.one_before(run)
    return compare.comparable(run).filter(pk=pk).first()


def _other_runs(run: Run, other: Run | None, run_ids: list[str]) -> list[Run]:
    """The other requested runs that exist, each once, in the requested order."""
    numbers = [pk for pk in map(number, run_ids) if pk is not None and other and pk != other.pk]
    runs_by_id = compare.comparable(run).in_bulk(numbers)
    return [runs_by_id[pk] for pk in dict.fromkeys(numbers) if pk in runs_by_id]


def _places(more: list[Run]) -> list[Run | None]:
    """The values of the other selection fields."""
    return [*more, *[None] * (MOST - 1 - len(more))]


def _choose_group(text: str, counts: Counts) -> Who:
    """The requested group, else the first of the three that has anybody."""
    if text in list(Who):
        return Who(text)
    return next((member for member in Who if getattr(counts, member)), Who.JOINED)


def _compare(newer: Run, older: Run, other: Run, request: HttpRequest) -> dict[str, Any]:
    counts = compare.counts(newer, older)
    group = _choose_group(request.GET.get("who", ""), counts)
    after = row_id(request.GET.get("after")) or 0
    people = compare.people(newer, older, group, after=after, limit=PAGE + 1)
    beside = _compared_ids(request, other)
    params = {"with": beside, "who": str(group)}
    more = len(people) > PAGE
    return {
        "counts": counts,
        "tabs": _tabs(counts, group, beside),
        "people": people[:PAGE],
        "first_page": not after,
        "first_url": f"?{urlencode(params, doseq=True)}",
        "next_url": _next(params, people[PAGE - 1].contact_id) if more else "",
    }


def _compared_ids(request: HttpRequest, other: Run) -> list[str]:
    """The compared runs, for the links to other pages of people."""
    return [str(other.pk), *request.GET.getlist("with")[1:MOST]]


def _next(params: dict[str, Any], after: int) -> str:
    return f"?{urlencode({**params, 'after': after}, doseq=True)}"


def _tabs(counts: Counts, group: Who, beside: list[str]) -> list[dict[str, Any]]:
    words = {Who.JOINED: _("Joined"), Who.LEFT: _("Left"), Who.BOTH: _("In both")}
    hints = {
        Who.JOINED: _("in the newer run only"),
        Who.LEFT: _("in the older run only"),
        Who.BOTH: _("in the older and the newer run"),
    }
    return [
        {
            "words": words[member],
            "hint": hints[member],
            "count": getattr(counts, member),
            "chosen": member is group,
            "url": f"?{urlencode({'with': beside, 'who': str(member)}, doseq=True)}",
        }
        for member in Who
    ]
