"""The retention page: how long a project keeps what, what goes next, and the days to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.contrib.admin import site
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from campaigns.audiences.audience import Audience
from campaigns.audiences.resolving import events_kept
from campaigns.canary.first_part import FirstPart
from campaigns.engagement import kept_for_goals
from campaigns.engine.retaining import KINDS
from campaigns.planning.campaign import Campaign
from campaigns.runs import series
from campaigns.runs.run import HOLDS, Run
from campaigns.triggers.automation import Automation, one_at_a_time
from notifications.admin.ui.page import actor, page_url
from notifications.people import retention
from notifications.people.project import Project
from notifications.people.retention import MAX_DAYS, Kept, Kind, before, days_of
from notifications.postgres.budget import TooSlow, clock, total_timeout, until
from notifications.staff import audit
from notifications.values.moments import DAY, in_words, local

TITLES = {
    "ledger": gettext_lazy("Who was in old runs"),
    "events": gettext_lazy("Events"),
    "imports": gettext_lazy("Imported files and their refused rows"),
    "inbox": gettext_lazy("Inboxes"),
    "reports": gettext_lazy("The log of reports"),
    "alerts": gettext_lazy("Alerts"),
}
ABOUT = {
    "ledger": gettext_lazy(
        "Recipients and outcomes, person by person. Totals, reasons and charts of a run "
        "stay. Unfinished runs, the last run of each series and runs that audiences use are "
        "always kept."
    ),
    "events": gettext_lazy(
        "What people did, as your app reported it. Rules find only what is kept."
    ),
    "imports": gettext_lazy(
        "The files and their refused rows. The people imported from them stay."
    ),
    "inbox": gettext_lazy(
        "What people find in the inbox of your app. An item with an earlier end of its own goes "
        "at that time."
    ),
    "reports": gettext_lazy(
        "What endpoints were told, and what they answered. What is still being tried stays."
    ),
    "alerts": gettext_lazy("What was wrong and is over. What still is stays."),
}
# The name of each change in the audit trail.
CALLED = {
    "ledger": gettext_noop("days runs are kept"),
    "events": gettext_noop("days events are kept"),
    "imports": gettext_noop("days imports are kept"),
    "inbox": gettext_noop("days inboxes are kept"),
    "reports": gettext_noop("days the log of reports is kept"),
    "alerts": gettext_noop("days alerts are kept"),
}
EVERY_MINUTES = 10  # beat's tick
LOOKING_SECONDS = 3.0  # for all kinds: the page must not block a web process


@dataclass(frozen=True)
class Needing:
    """An audience, a campaign, a run or an automation, and what it needs of old events."""

    name: str
    url: str
    asks: str


@dataclass(frozen=True)
class Row:
    """One kind as the page shows it, with what was typed for it."""

    name: str
    days: int | None
    kept: Kept | None  # None: it could not be counted in time
    project: Project
    typed: str = ""
    error: str = ""
    asks: bool = False  # whether the page asks to confirm the days that were typed
    new: Kept | None = None  # what these days would do; None: it could not be counted in time
    needing: Sequence[Needing] = ()  # of events: what looks further back than these days

    @property
    def title(self) -> str:
        return str(TITLES[self.name])

    @property
    def about(self) -> str:
        return str(ABOUT[self.name])

    @property
    def period(self) -> str:
        return _in_days(self.days)

    @property
    def new_period(self) -> str:
        return _in_days(int(self.typed) if self.typed else None)

    @property
    def there(self) -> str:
        return _amount(self.name, self.kept.there, exact=self.kept.exact) if self.kept else ""

    @property
    def older(self) -> str:
        return _amount(self.name, self.kept.older, exact=self.kept.exact) if self.kept else ""

    @property
    def would_go(self) -> str:
        return _amount(self.name, self.new.older, exact=self.new.exact) if self.new else ""

    @property
    def removes(self) -> bool:
        """Whether something would be removed. What could not be counted may be much."""
        return self.new is None or self.new.older > 0

    @property
    def next_day(self) -> str:
        """The first day whose passes find something more to remove."""
        if self.days is None or self.kept is None or self.kept.next_at is None:
            return ""
        return local(_following_day(self.kept.next_at, self.days), "UTC", DAY)


def _following_day(moment: datetime, days: int) -> datetime:
    return moment + timedelta(days=days + 1)


def _in_days(days: int | None) -> str:
    if days is None:
        return _("for ever")
    return ngettext("%(count)s day", "%(count)s days", days) % {"count": f"{days:,}"}


def _amount(kind: str, count: int, *, exact: bool) -> str:
    phrase = {
        "ledger": ngettext("%(count)s recipient", "%(count)s recipients", count),
        "events": ngettext("%(count)s event", "%(count)s events", count),
        "imports": ngettext("%(count)s import", "%(count)s imports", count),
        "inbox": ngettext("%(count)s item", "%(count)s items", count),
        "reports": ngettext("%(count)s call", "%(count)s calls", count),
        "alerts": ngettext("%(count)s alert", "%(count)s alerts", count),
    }[kind]
    amount = phrase % {"count": f"{count:,}"}
    return amount if exact else _("about %(amount)s") % {"amount": amount}


def urls() -> list[URLPattern]:
    return [path("retention/<int:object_id>/", site.admin_view(page), name="retention")]


def page(request: HttpRequest, object_id: int) -> HttpResponse:
    """The page. A first POST asks, and says how much would go; a second one, confirmed, does it."""
    project = get_object_or_404(Project, pk=object_id)
    now = timezone.now()
    with until(clock() + LOOKING_SECONDS):
        rows = {row.name: row for row in _rows(project, now)}
    if request.method == "POST" and (row := rows.get(request.POST.get("kind", ""))):
        edited = _apply_typed_days(row, request.POST.get("days", ""), now)
        if edited.asks and request.POST.get("confirmed"):
            return _change(request, edited)
        rows[row.name] = edited
    context = {
        **site.each_context(request),
        "title": _("Retention"),
        "subtitle": project.name,
        "project": project,
        "rows": rows.values(),
        "minutes": EVERY_MINUTES,
        "most": MAX_DAYS,
    }
    return TemplateResponse(request, "admin/retention.html", context)


def _rows(project: Project, now: datetime) -> Iterator[Row]:
    for name, kind in KINDS.items():
        days = days_of(project.pk, name)
        count = _count_kept(kind, project, before(days, now=now))
        yield Row(name, days, count, project, typed="" if days is None else str(days))


def _count_kept(kind: Kind, project: Project, moment: datetime | None) -> Kept | None:
    """Count within the time. None: it took longer, and the page is worth more than the count."""
    with suppress(TooSlow), total_timeout(seconds=LOOKING_SECONDS):
        return kind.look(project.pk, moment)
    return None


def _apply_typed_days(row: Row, typed: str, now: datetime) -> Row:
    """The row with what was typed, and what that would remove, or why it cannot be."""
    values: dict[str, Any] = {**vars(row), "typed": typed.strip()}
    try:
        days = _parse_days(typed)
    except ValidationError as error:
        return Row(**{**values, "error": error.messages[0]})
    needing: list[Needing] = []
    if row.name == "events" and days and (row.days is None or days < row.days):
        if obstacle := _find_obstacle(row.project, days):
            return Row(**{**values, "error": obstacle})
        needing = [*_find_needing(row.project, days)]
    new = _count_kept(KINDS[row.name], row.project, before(days, now=now))
    return Row(**{**values, "asks": True, "new": new, "needing": needing})


def _find_obstacle(project: Project, days: int) -> str:
    """Why events must be kept: an automation that is on would send to people it must leave out."""
    automations = Automation.objects.filter(project=project, state=Automation.State.ON)
    for automation in automations:
        if automation.unless_unseen(days):
            text = _(
                "Pause the automation “%(name)s” first, or shorten its delay: it waits %(span)s "
                "for an event that would be removed."
            )
            return text % {"name": automation, "span": in_words(automation.delay)}
    return ""


def _find_needing(project: Project, days: int) -> Iterator[Needing]:
    """Rules that would find less than they ask for, or select people who did it earlier."""
    for audience in Audience.objects.filter(project=project, kind=Audience.Kind.RULES):
        if needs := events_kept.needing(audience.rules, days):
            yield Needing(str(audience), page_url(audience), "; ".join(needs))
    for run in series.going_on(project.pk):
        chosen = run.planned is not None and run.occurrence == series.ONCE
        if not chosen and (needs := events_kept.needing(run.rules, days)):
            yield Needing(_run_title(run), page_url(run), "; ".join(needs))
    yield from _find_needing_for_goals(project, days)
    unsent = (Automation.State.DRAFT, Automation.State.PAUSED)
    for automation in Automation.objects.filter(project=project, state__in=unsent):
        if automation.unless_unseen(days):
            text = _("waits %(span)s for “%(event)s”")
            asks = text % {"span": in_words(automation.delay), "event": automation.unless_name}
            yield Needing(str(automation), page_url(automation), asks)


def _run_title(run: Run) -> str:
    words = {"number": run.pk, "campaign": run.campaign}
    return _("Run %(number)s of %(campaign)s") % words


def _find_needing_for_goals(project: Project, days: int) -> Iterator[Needing]:
    """Campaigns and runs that would miss events: to choose a variant, or while a goal counts."""
    for_longer = kept_for_goals.longer_than(days)
    launched = Exists(Run.objects.filter(HOLDS, campaign=OuterRef("pk")))
    planned = Campaign.objects.filter(~launched, for_longer, project=project, archived_at=None)
    for campaign in planned:
        asks = kept_for_goals.in_words_of(campaign, days)
        yield Needing(str(campaign), page_url(campaign), asks)
    ended = Run.objects.filter(for_longer, project=project, finished_at__isnull=False)
    going = {run.pk: run for run in series.going_on(project.pk)}
    counting = [run for run in ended.select_related("campaign") if _still_counts(run)]
    for run in {**{run.pk: run for run in counting}, **going}.values():
        chosen = run.occurrence == series.ONCE and _is_chosen(run)
        if asks := kept_for_goals.in_words_of(run, days, chosen=chosen):
            yield Needing(_run_title(run), page_url(run), asks)


def _still_counts(run: Run) -> bool:
    ends = timedelta(seconds=run.goal_within_seconds)
    return run.started_at is not None and run.started_at + ends > timezone.now()


def _is_chosen(run: Run) -> bool:
    """Whether it is decided which variant the rest gets, or that the rest is shared out."""
    went_on = FirstPart.objects.filter(run=run, went_on_at__isnull=False)
    return not run.unfinished or run.winner is not None or went_on.exists()


def _parse_days(typed: str) -> int | None:
    if not typed.strip():
        return None
    if not typed.strip().isascii() or not typed.strip().isdecimal():
        raise ValidationError(_("Type a whole number of days, or nothing to keep it for ever."))
    if not 1 <= (days := int(typed.strip()[:10])) <= MAX_DAYS:
        text = _("From 1 to %(most)s days, or nothing to keep it for ever.")
        raise ValidationError(text % {"most": f"{MAX_DAYS:,}"})
    return days


def _change(request: HttpRequest, row: Row) -> HttpResponse:
    days = _parse_days(row.typed)
    with transaction.atomic():
        one_at_a_time(row.project.pk)  # an automation turned on meanwhile sees the new days
        obstacle = _find_obstacle(row.project, days) if row.name == "events" and days else ""
        changed = not obstacle and retention.change(row.project, row.name, days)
    if obstacle:
        messages.error(request, obstacle)
    if changed:
        audit.record(
            actor(request), gettext_noop("changed"), row.project, project=row.project,
            changes={CALLED[row.name].replace(" ", "_"): [row.days, days]},
        )  # fmt: skip
        text = _("%(what)s: kept %(period)s from now on.")
        messages.success(request, text % {"what": row.title, "period": _in_days(days)})
    return HttpResponseRedirect(reverse("admin:retention", args=[row.project.pk]))
