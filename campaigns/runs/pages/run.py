"""Runs: the list, the live page of each, and its actions. Runs are not edited."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns import verbs
from campaigns.alerts.pages import alerts_of_run
from campaigns.audiences.bounds import AS_KEPT
from campaigns.audiences.lists import outcomes
from campaigns.audiences.lists.run_lists import is_known
from campaigns.audiences.words import sentence
from campaigns.corrections import draft_correction, wrong_items
from campaigns.corrections.pages import change_text
from campaigns.corrections.pages.change_text import ChangeTextDialog
from campaigns.corrections.pages.correct import CORRECT, Corrects, offers_a_correction
from campaigns.planning import rhythm_in_words
from campaigns.rehearsals.comparison import compare_run
from campaigns.results import compare
from campaigns.runs import policy, sums
from campaigns.runs.pages import chunk, deliveries, live, sent_to_person, why
from campaigns.runs.pages.dialogs import (
    CancelDialog,
    GoOnDialog,
    KeepUnknownDialog,
    RateDialog,
    RestoreDialog,
    ResumeDialog,
    SendAgainDialog,
)
from campaigns.runs.pages.follow_ups import (
    EVERYBODY_ELSE,
    MAKE_LIST,
    REST,
    FromRuns,
    offers_everybody_else,
    offers_the_rest,
)
from campaigns.runs.pages.result import (
    by_property,
    engagement,
    figures,
    first_part,
    sent_text,
    variants,
)
from campaigns.runs.pages.result import (
    compare_runs as beside,
)
from campaigns.runs.pages.states import STATE_COLOURS
from campaigns.runs.pages.steering import steered
from campaigns.runs.run import Run
from campaigns.verbs import MOVE, VERBS
from notifications.admin.ui.dialogs import Dialog, ask, close_dialog
from notifications.admin.ui.page import ReadOnlyPage, page_url
from notifications.admin.ui.unfolded import action, display
from notifications.staff import audit, audit_words
from notifications.staff.actors import who
from notifications.values.moments import in_zone
from notifications.values.shares import share, width

DUPLICATE = gettext_lazy("Duplicate as a new campaign")


@admin.register(Run)
class RunPage(FromRuns, Corrects, ReadOnlyPage):
    list_display = [
        "name",
        "state_label",
        "progress",
        "accepted_of",
        "not_accepted",
        "started",
        "by",
    ]
    list_filter = ["state"]
    list_select_related = ["campaign", "project"]
    search_fields = ["campaign__name"]
    search_help_text = gettext_lazy("Name of the campaign")
    sortable_by = ()
    actions_detail = [
        *(verb.name for verb in VERBS if verb is not MOVE),
        "rest",
        "everybody_else",
        "correct",
        "make_list",
        "duplicate",
    ]
    empty_text = gettext_lazy("Launching a campaign creates a run. You follow it here.")

    class Media:
        css = {"all": ["run.css", "alert.css", "template.css"]}
        js = ["run.js", "chart.js", "take_away.js"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return super().get_queryset(request).select_related("campaign", "project")

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        return []  # the page draws its own buttons, which follow the state without a reload

    def get_urls(self) -> list[Any]:
        ours = [
            ("<int:run_id>/live/", self.live_view, "run_live"),
            ("<int:run_id>/course/", live.course_view, "run_course"),
            ("<int:run_id>/chunk/", chunk.chunk_view, "run_chunk"),
            ("<int:run_id>/breakdown/", by_property.breakdown_view, "run_breakdown"),
            ("<int:run_id>/echo/", engagement.echo_view, "run_echo"),
            ("<int:run_id>/variants/", variants.variants_view, "run_variants"),
            ("<int:run_id>/compare/", beside.compare_view, "run_compare"),
            ("<int:run_id>/deliveries/", deliveries.page_view, "run_deliveries"),
            ("<int:run_id>/why/", why.why_view, "run_why"),
            ("<int:run_id>/recipients.csv", deliveries.csv_view, "run_csv"),
            ("sent-to/<int:contact_id>/", sent_to_person.sent_view, "person_sent"),
        ]
        return [*self.guarded_paths(ours), *super().get_urls()]

    # --- The list ------------------------------------------------------------------------------

    @display(description=gettext_lazy("run"))
    def name(self, obj: Run) -> str:
        return f"{obj.pk} · {obj.campaign}"

    @display(description=gettext_lazy("state"), label=STATE_COLOURS)
    def state_label(self, obj: Run) -> tuple[str, str]:
        return obj.state, str(Run.State(obj.state).label)

    @display(description=gettext_lazy("progress"))
    def progress(self, obj: Run) -> SafeString | str:
        if obj.planned is None:
            return "–"
        cancelled = obj.state == Run.State.CANCELLED
        done_count = obj.accepted if cancelled else obj.planned - obj.waiting
        part = share(done_count, obj.planned)
        text = (
            _("Cancelled: %(share)s %% had been accepted") if cancelled else _("%(share)s %% done")
        )
        return format_html(
            '<span class="c-meter"><progress max="100" value="{}" aria-label="{}">'
            "</progress><span>{} %</span></span>",
            width(done_count, obj.planned),
            text % {"share": part},
            part,
        )

    @display(description=gettext_lazy("accepted"))
    def accepted_of(self, obj: Run) -> str:
        if obj.planned is None:
            return "–"  # counted when it starts
        sendable = sums.of_how_many(obj.state, obj.planned, obj.skipped)
        numbers = {"accepted": f"{obj.accepted:,}", "planned": f"{sendable:,}"}
        if obj.state == Run.State.CANCELLED:
            return _("%(accepted)s of %(planned)s") % numbers
        part = {"share": share(obj.accepted, sendable)}
        return _("%(accepted)s of %(planned)s (%(share)s %%)") % (numbers | part)

    @display(description=gettext_lazy("not accepted"))
    def not_accepted(self, obj: Run) -> str:
        return "–" if obj.planned is None else f"{obj.rejected + obj.skipped + obj.unknown:,}"

    @display(description=gettext_lazy("started"))
    def started(self, obj: Run) -> str:
        zone = obj.project.timezone
        if obj.started_at:
            return in_zone(obj.started_at, zone)
        return _("due %(when)s") % {"when": obj.on_every_clock or in_zone(obj.scheduled_at, zone)}

    @display(description=gettext_lazy("launched by"))
    def by(self, obj: Run) -> str:
        return who(obj.launched_by)

    # --- The page ------------------------------------------------------------------------------

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        run = context["original"]
        context |= {**self._everything(request, run), **alerts_of_run(request, run)}
        context |= {"readings": sent_text.readings(run), "snippets": sent_text.snippets(run)}
        return super().render_change_form(request, context, *args, **kw)

    def live_view(self, request: HttpRequest, run_id: int) -> HttpResponse:
        """Refresh the page every second or two. What rarely changes is sent only if it changed."""
        run = get_object_or_404(Run.objects.select_related("project", "campaign"), pk=run_id)
        seen_before = request.GET.get("seen", "")
        if live.stands_still(run, request.GET.get("tag", "")):
            return HttpResponse(status=204)  # htmx leaves the page as it is
        if seen_before.partition("-")[0] == live.stage(run):
            context = live.picture(run, timezone.now())
        else:
            context = {**self._everything(request, run), "state_changed": True}
            context["readings"] = sent_text.readings(run)
            context["snippets"] = sent_text.snippets(run)
        context["first_verbs"] = self._first_part_buttons(request, context["first"])
        context["spoken"] = seen_before != context["seen"]
        return render(request, "admin/campaigns/run/live.html", context)

    def _everything(self, request: HttpRequest, run: Run) -> dict[str, Any]:
        about, now = audit.entries_of(run), timezone.now()
        entries = list(about.filter(project=run.project_id).order_by("pk"))
        picture = live.picture(run, now)
        return {
            **picture,
            # Beside a result or many reasons, there is room for the settings at launch.
            "much_to_say": not run.unfinished or _has_much_to_say(picture),
            **live.course(run, now, technical=live.sees_technical(request)),
            **change_text.changes_of(run),
            **by_property.picture(run),
            **engagement.picture(run, now),
            **figures.picture(run),
            "verbs": self._buttons(request, run),
            "first_verbs": self._first_part_buttons(request, picture["first"]),
            "entries": entries,
            "frozen": policy.frozen_in(run, _as_launched(run, entries)),
            "said": sentence(run.rules, project_id=run.project_id, bounds=AS_KEPT),
            "repeats": rhythm_in_words.of_run(run),
            "corrections": draft_correction.corrections_of(run),
            "in_inboxes": _count_in_inboxes(run) if run.corrects and run.inbox else None,
            "compared": compare_run(run),
            "one_before": compare.one_before(run) if compare.is_comparable(run) else None,
        }

    def _buttons(self, request: HttpRequest, run: Run) -> list[tuple[str, Any, str]]:
        """Buttons that make sense now and that the user's role permits; the main one first."""
        beside = (verb for verb in verbs.offered(run) if verb is not verbs.GO_ON)
        offered = sorted(beside, key=lambda verb: verb is not verbs.RESUME)
        fitting = [(verb.name, verb.label) for verb in offered]
        to_rest = [("rest", REST)] if offers_the_rest(run) else []
        to_everybody_else = (
            [("everybody_else", EVERYBODY_ELSE)] if offers_everybody_else(run) else []
        )
        correction = [("correct", CORRECT)] if offers_a_correction(run) else []
        lists = [("make_list", MAKE_LIST)] if is_known(run) else []
        return [
            (name, label, reverse(f"admin:campaigns_run_{name}", args=[run.pk]))
            for name, label in [
                *(*to_everybody_else, *to_rest, *fitting, *correction, *lists),
                ("duplicate", DUPLICATE),
            ]
            if self.opens(request, name)
        ]

    def _first_part_buttons(self, request: HttpRequest, first: Any) -> list[tuple[str, Any, str]]:
        """Buttons beside the canary's figures."""
        return [
            (verb.name, label, reverse(f"admin:{verb.page}", args=[first.part.pk]))
            for verb, label in first_part.steered_by(first)
            if self.opens(request, verb.name)
        ]

    # --- Actions -------------------------------------------------------------------------------

    pause = steered(verbs.PAUSE)
    resume = steered(verbs.RESUME, ResumeDialog)
    go_on = steered(verbs.GO_ON, GoOnDialog)
    change_rate = steered(verbs.CHANGE_RATE, RateDialog)
    ignore_load = steered(verbs.IGNORE_LOAD)
    change_text = steered(verbs.CHANGE_TEXT, ChangeTextDialog)
    cancel = steered(verbs.CANCEL, CancelDialog)
    restore_devices = steered(verbs.RESTORE_DEVICES, RestoreDialog)
    send_again = steered(verbs.SEND_AGAIN, SendAgainDialog)
    keep_unknown = steered(verbs.KEEP_UNKNOWN, KeepUnknownDialog)

    @action(
        description=DUPLICATE,
        permissions=["view"],
        dialog=ask(
            gettext_lazy("Duplicate as a new campaign?"),
            text=gettext_lazy(
                "The copy is a draft with the campaign's audience, template and options as they "
                "are today; nothing is sent."
            ),
            button=gettext_lazy("Duplicate"),
        ),
    )
    def duplicate(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        """Duplicate the run's campaign. The run is not changed."""
        run = Run.objects.select_related("campaign__project").get(pk=object_id)
        twin = run.campaign.duplicate()
        self.record(request, "created", twin, copied_from=run.campaign_id)
        text = _("“{name}” is a copy. Change what you like.").format(name=twin)
        return close_dialog(request, text, to=page_url(twin))


def _count_in_inboxes(correction: Run) -> dict[str, int] | None:
    """Count the people who have the right text in their inbox, and who still have the wrong one."""
    right = outcomes.count(correction.pk, outcomes.IN_INBOX, seconds=wrong_items.SECONDS)
    wrong = wrong_items.count_left(correction)
    return None if right is None or wrong is None else {"right": right[0], "wrong": wrong}


def _has_much_to_say(picture: dict[str, Any]) -> bool:
    entry_count = len(picture["reasons"]) + len(picture["skips"]) + bool(picture["unknowns"])
    return entry_count > 2


def _as_launched(run: Run, entries: list[audit.AuditEntry]) -> Run:
    """The run as it was launched, before the changes that the audit trail lists."""
    launched = copy(run)
    for entry in reversed(entries):
        for field, was in audit_words.pairs(entry.changes):
            if field in policy.LIVE:
                setattr(launched, field, was[0])
    return launched
