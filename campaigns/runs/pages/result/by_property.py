"""Breakdown of a finished run: its results by platform, language, time zone and app version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.functional import Promise
from django.utils.translation import get_language_info, gettext_lazy
from django.utils.translation import gettext as _

from campaigns.results import breakdown
from campaigns.results.breakdown import Kind
from campaigns.runs.run import Run
from campaigns.runs.sums import CUT_BY
from campaigns.runs.variants import group
from notifications.people.device import Device

SHOWN = 6
TITLES: dict[str, str | Promise] = {
    "platform": gettext_lazy("Platform"),
    "locale": gettext_lazy("Language"),
    "timezone": gettext_lazy("Time zone"),
    "app_version": gettext_lazy("App version"),
    "variant": gettext_lazy("Variant"),
}


@dataclass(frozen=True)
class Line:
    """A group of recipients, with its value in words."""

    words: str
    kind: Kind


def breakdown_view(request: HttpRequest, run_id: int) -> HttpResponse:
    """The breakdown. The page requests it again while the run is being counted."""
    run = get_object_or_404(Run.objects.select_related("project"), pk=run_id)
    return render(request, "admin/campaigns/run/breakdown.html", picture(run))


def picture(run: Run) -> dict[str, Any]:
    totals = breakdown.kept_of(run)
    cuts = [breakdown.cut(totals, by).shortened(SHOWN) for by in CUT_BY] if totals else []
    return {
        "run": run,
        "counting": not totals and breakdown.will_be_counted(run),
        "cuts": [(cut.by, str(TITLES[cut.by]), _lines(cut)) for cut in cuts if cut.tells],
    }


def _lines(cut: breakdown.Cut) -> list[Line]:
    lines = [Line(in_words(cut.by, kind.value), kind) for kind in cut.kinds]
    return [*lines, Line(_("All others"), cut.others)] if cut.others else lines


def in_words(by: str, value: str) -> str:
    if by == "platform" and value in Device.Platform.values:
        return str(Device.Platform(value).label)
    if by == "locale" and value:
        return _language(value)
    if by == "variant" and value:
        return group.in_words(int(value))
    return value or _("not known")


def _language(tag: str) -> str:
    """A language in words: “Korean (ko)”; only the tag if Django has no name for it."""
    try:
        return f"{get_language_info(tag.lower())['name_translated']} ({tag})"
    except KeyError:
        return tag
