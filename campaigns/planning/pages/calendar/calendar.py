"""Calendar: past and future runs by day. Scheduled runs can be moved."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.dateformat import format as written
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns import control
from campaigns.planning import calendar
from campaigns.planning.calendar import DRAFT, EXPECTED, RESTING, Entry
from campaigns.planning.pages.calendar import day_panel, days_off, ics
from campaigns.planning.pages.calendar import span as calendar_span
from campaigns.planning.pages.calendar.day_lines import Line, lines
from campaigns.planning.pages.calendar.hourly_heatmap import levels
from campaigns.planning.pages.calendar.move import MoveDialog
from campaigns.planning.pages.calendar.move_occurrence import MoveOneDialog
from campaigns.planning.pages.calendar.span import COOKIE, Span
from campaigns.runs.run import Run
from campaigns.verbs import MOVE
from notifications.admin.ui import safe_redirect
from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.dialogs import close_dialog, is_page, refused
from notifications.admin.ui.page import Page, actor, page_url
from notifications.admin.ui.widgets import ZoneInput
from notifications.postgres.budget import Busy, slow_query_slot
from notifications.values.moments import CLOCK, DAY_AND_CLOCK, YEARS, local, short

A_YEAR = 365 * 86_400
LATEST = datetime(YEARS[-1] + 1, 1, 1, tzinfo=UTC).timestamp()
MAX_IN_FILE = 2_000  # occurrences of series: calendars fetch the file every few hours
# A run in local time may begin this long before its day, and a late one this long after.
BEFORE, AFTER = timedelta(days=2), timedelta(days=2)
IN_A_DAY = {"month": 4, "week": 60}  # the rest of a full day is a link to its week
LABELS = {
    **{str(state): label for state, label in Run.State.choices},
    EXPECTED: gettext_lazy("Expected"),
    DRAFT: gettext_lazy("Not launched"),
    RESTING: gettext_lazy("Series paused"),
}
# States of single messages and rehearsals, which are not shown; “preparing” looks like “sending”.
UNSHOWN = (Run.State.OPEN, Run.State.REHEARSING, Run.State.PREPARING)


@dataclass(frozen=True)
class Shown:
    """An entry as a calendar cell shows it."""

    entry: Entry
    clock: str
    url: str
    state: str
    label: Any
    move_url: str  # empty: it cannot be moved
    times: str = ""  # if it stands for several entries
    each: list[Shown] = field(default_factory=list)  # those entries, if there is room
    moved: str = ""  # “moved from Mon 7 Dec, 09:00”


@dataclass(frozen=True)
class Day:
    date: date
    spoken: str
    today: bool
    outside: bool  # of another month, shown to fill the week
    past: bool
    shown: list[Shown]
    more: int
    week: str
    left_out: str  # which campaigns have this day off


class Calendar:
    """Views of the campaign calendar, and of the dialogs that move a run in it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def urls(self) -> list[URLPattern]:
        guarded = self.page.guarded
        return [
            path("calendar/", guarded(self.calendar_view), name="campaigns_calendar"),
            path("calendar/days/", guarded(self.days_view), name="campaigns_calendar_days"),
            path("calendar.ics", guarded(self.file_view), name="campaigns_calendar_file"),
            path("calendar/<int:run_id>/", guarded(self.move_view), name=MOVE.page),
            path(
                "calendar/series/<int:pk>/<int:at>/",
                guarded(self.move_one_view),
                name="campaigns_series_move",
            ),
        ]

    def calendar_view(self, request: HttpRequest) -> HttpResponse:
        now = timezone.now()
        span = calendar_span.asked_for(request, now)
        campaigns = self.page.get_queryset(request)
        since, until = span.since - BEFORE, span.until + AFTER
        entries = calendar.entries(campaigns, since, until, now, only=span.holds)
        off = days_off.all_off(campaigns)
        context = {
            **self.page.admin_site.each_context(request),
            "title": _("Calendar"),
            "opts": self.page.opts,
            "span": span,
            "weekdays": calendar_span.weekdays(span),
            "weeks": _weeks(span, entries, now, days_off.by_day(off), may_move=_may_move(request)),
            "year": str(span.day.year),
            "days_off": days_off.of_year(off, span.day.year),
            "file_url": reverse("admin:campaigns_calendar_file") + span.address(),
            "today_url": span.address(day=span.local(now).date()),
            "views": _views(span),
            "legend": [(state, label) for state, label in LABELS.items() if state not in UNSHOWN],
            "any": bool(entries),
            "ends": _in_words(entries.ends, span),
            "runs_end": _in_words(entries.runs_end, span),
            "may_move": _may_move(request),
            "pages_zone": calendar_span.pages_zone(request),
            "zone_input": ZoneInput().render("zone", span.zone, {"id": "calendar-zone"}),
            "unknown_zone": calendar_span.unknown_zone(request),
        }
        reply = TemplateResponse(request, "admin/campaigns/campaign/calendar.html", context)
        if calendar_span.is_chosen(request, span):
            reply.set_cookie(COOKIE, span.zone, max_age=A_YEAR, samesite="Lax")
        return reply

    def days_view(self, request: HttpRequest) -> HttpResponse:
        """Each day's use of the quota, and people who would get two messages on it. The open page
        requests this separately, so that it need not wait."""
        now = timezone.now()
        span = calendar_span.asked_for(request, now)
        context: dict[str, Any] = {"levels": levels()}
        if project := current_project(request):
            campaigns = self.page.get_queryset(request)
            try:
                with slow_query_slot(project.pk):
                    context["days"], context["more"] = day_panel.days(project, campaigns, span, now)
            except Busy:
                context["busy"] = True
        return render(request, "admin/campaigns/campaign/calendar_days.html", context)

    def file_view(self, request: HttpRequest) -> HttpResponse:
        """The calendar as an .ics file: a year from the first shown day on."""
        now = timezone.now()
        span = calendar_span.asked_for(request, now)
        since = span.since - BEFORE
        campaigns = self.page.get_queryset(request)
        until = span.since + timedelta(seconds=A_YEAR)

        def is_shown(entry: Entry) -> bool:
            return span.time_of(entry).date() >= span.first

        entries = calendar.entries(campaigns, since, until, now, most=MAX_IN_FILE, only=is_shown)
        labels = {state: str(label) for state, label in LABELS.items()}
        text = ics.written(entries, labels, request.build_absolute_uri, now)
        reply = HttpResponse(text, content_type="text/calendar; charset=utf-8")
        reply["Content-Disposition"] = 'attachment; filename="carillon.ics"'
        return reply

    def move_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        if not _may_move(request):
            raise PermissionDenied
        mine = Run.objects.filter(campaign__in=self.page.get_queryset(request).values("pk"))
        run = get_object_or_404(mine.select_related("campaign", "project"), pk=run_id)
        if is_page(request):
            return HttpResponseRedirect(page_url(run))
        form = MoveDialog(request, run.pk, request.POST or None, run=run, now=timezone.now())
        if not form.is_valid():
            button = {"form_submit_text": MOVE.button} if form.possible else {}
            context = {"form": form, "dialog": {"title": ""}, **button}
            return render(request, "unfold/helpers/dialog.html", context)
        try:
            MOVE.do(run, at=form.to, was=form.cleaned_data["was"], by=actor(request))
        except Run.InvalidMove as error:
            return refused(request, form, str(error))
        message = MOVE.done_text % {"campaign": run.campaign, "when": form.new_time}
        if safe_redirect.page_open(request) == page_url(run):
            return close_dialog(request, message, to=page_url(run))
        view = "week" if form.cleaned_data["view"] == "week" else "month"
        where = Span(view, form.wall.date(), form.clock).address()
        return close_dialog(request, message, to=reverse("admin:campaigns_calendar") + where)

    def move_one_view(self, request: HttpRequest, pk: int, at: int) -> HttpResponse:
        """Move one occurrence of a series. `at`: when it is due, in Unix seconds."""
        if not _may_move(request):
            raise PermissionDenied
        campaign = get_object_or_404(self.page.get_queryset(request), pk=pk)
        if is_page(request):
            return HttpResponseRedirect(page_url(campaign))
        if at >= LATEST:
            raise Http404
        due = datetime.fromtimestamp(at, UTC)
        form = MoveOneDialog(
            request,
            campaign.pk,
            request.POST or None,
            campaign=campaign,
            of=due,
            now=timezone.now(),
        )
        if not form.is_valid() or not form.possible:
            button = {"form_submit_text": form.button} if form.possible else {}
            context = {"form": form, "dialog": {"title": ""}, **button}
            return render(request, "unfold/helpers/dialog.html", context)
        was, wall = form.cleaned_data["was"], form.cleaned_data.get("at")
        try:
            if form.cleaned_data["leave_out"]:
                control.leave_out_one(campaign, due, was=was, by=actor(request))
                when = {"campaign": campaign, "when": form.time_in_words(was)}
                message, wall = _("Left out: “%(campaign)s” on %(when)s.") % when, None
            else:
                control.move_one(campaign, due, to=form.to, was=was, by=actor(request))
                message = MOVE.done_text % {
                    "campaign": campaign,
                    "when": short(form.to, form.clock),
                }
        except Run.InvalidMove as error:
            return refused(request, form, str(error))
        view = "week" if form.cleaned_data["view"] == "week" else "month"
        day = (wall or form.initial["at"]).date()
        where = Span(view, day, form.clock).address()
        return close_dialog(request, message, to=reverse("admin:campaigns_calendar") + where)


def _in_words(moment: datetime | None, span: Span) -> str:
    return local(moment, span.zone, DAY_AND_CLOCK) if moment else ""


def _views(span: Span) -> list[tuple[str, str, str]]:
    names = (("month", _("Month")), ("week", _("Week")))
    return [(name, label, span.address(view=name)) for name, label in names]


def _may_move(request: HttpRequest) -> bool:
    return request.user.has_perm("campaigns.move_run")


def _weeks(
    span: Span, entries: list[Entry], now: datetime, left_out: dict[date, str], *, may_move: bool
) -> list[list[Day]]:
    by_day: defaultdict[date, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_day[span.time_of(entry).date()].append(entry)
    for of_day in by_day.values():
        of_day.sort(key=span.time_of)
    today = span.local(now).date()
    return [
        [
            _day(span, day, by_day[day], today, left_out.get(day, ""), may_move=may_move)
            for day in week
        ]
        for week in span.weeks
    ]


def _move_url(entry: Entry) -> str:
    if entry.run is not None:
        return reverse(f"admin:{MOVE.page}", args=[entry.run.pk])
    if entry.state != EXPECTED:
        return ""
    own = entry.instant if entry.wall else None
    at = int((own or entry.at).timestamp())
    return reverse("admin:campaigns_series_move", args=[entry.campaign.pk, at])


def _shown(entry: Entry, span: Span, *, may_move: bool) -> Shown:
    at, own = span.time_of(entry), entry.moved_from
    return Shown(
        entry=entry,
        clock=written(at, str(CLOCK)),
        url=page_url(entry.run or entry.campaign),
        state=entry.state,
        label=LABELS[entry.state],
        move_url=_move_url(entry) if may_move and entry.movable else "",
        moved=_("moved from %(when)s") % {"when": _short_time(at, span.local(own))} if own else "",
    )


def _short_time(at: datetime, moment: datetime) -> str:
    """The other time, without its day if the day is the same."""
    return written(moment, str(CLOCK if at.date() == moment.date() else DAY_AND_CLOCK))


def _line(line: Line, span: Span, *, may_move: bool, in_full: bool) -> Shown:
    first = _shown(line.first, span, may_move=may_move)
    if not line.others:
        return first
    moved = sum(1 for entry in (line.first, *line.others) if entry.moved_from)
    shown_entries = line.others if in_full else []
    others = [_shown(entry, span, may_move=may_move) for entry in shown_entries]
    all_shown = [first, *others] if in_full else []
    url = page_url(line.first.campaign)
    text = ngettext("%(count)s moved", "%(count)s moved", moved) % {"count": moved} if moved else ""
    return replace(first, url=url, move_url="", times=line.times, each=all_shown, moved=text)


def _day(
    span: Span, day: date, entries: list[Entry], today: date, left_out: str, *, may_move: bool
) -> Day:
    most = IN_A_DAY[span.view]
    in_full = span.view == "week" and len(entries) <= most
    day_lines = list(lines(entries))
    return Day(
        date=day,
        spoken=calendar_span.day_heading(day, today),
        today=day == today,
        outside=span.view == "month" and day.month != span.day.month,
        past=day < today,
        shown=[_line(line, span, may_move=may_move, in_full=in_full) for line in day_lines[:most]],
        more=sum(1 + len(line.others) for line in day_lines[most:]),
        week=span.address(day=day, view="week"),
        left_out=left_out,
    )
