"""Runs: what happened, and what is happening. Read only, but for its three verbs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db import OperationalError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns import control, tasks
from campaigns.admin.campaign.campaign import STATE_COLOURS
from campaigns.admin.campaign.ending import CancelDialog
from campaigns.admin.run.change_rate import RateDialog
from campaigns.admin.run.views import RunViews
from campaigns.engine import unknowns
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.admin.furniture.dialogs import Dialog, ask, done, refused
from notifications.admin.furniture.page import actor, page_url
from notifications.admin.furniture.unfolded import action, display
from notifications.people import device
from notifications.staff.actors import who
from notifications.values.moments import in_zone
from notifications.values.shares import share

# Not "campaigns.change_run": Unfold looks dotted names up in the database in its system check, and
# `migrate` runs the checks before there is one.
MAY = ["steer"]


class RestoreDialog(Dialog):
    template = "admin/campaigns/run/restore.html"

    def context(self) -> dict[str, Any]:
        run = Run.objects.get(pk=self.object_id or 0)
        return {"devices": device.retired_by(run.reference).count()}


class ResumeDialog(Dialog):
    template = "admin/campaigns/run/resume.html"

    def context(self) -> dict[str, Any]:
        return {
            "list_is_old": Run.objects.get(pk=self.object_id or 0).cause == Cause.DEAD_ADDRESSES
        }


class SendAgainDialog(Dialog):
    template = "admin/campaigns/run/send_again.html"
    danger = True

    @property
    def possible(self) -> bool:
        return Run.objects.get(pk=self.object_id or 0).deadline >= timezone.now()

    def context(self) -> dict[str, Any]:
        run = Run.objects.get(pk=self.object_id or 0)
        return {
            "undecided": unknowns.undecided(run),
            "refused": unknowns.refused_for_the_moment(run),
            "expired": not self.possible,
        }


class LetBeDialog(Dialog):
    template = "admin/campaigns/run/let_be.html"

    def context(self) -> dict[str, Any]:
        return {"undecided": unknowns.undecided(Run.objects.get(pk=self.object_id or 0))}


@admin.register(Run)
class RunPage(RunViews):
    list_display = ["name", "stands", "progress", "accepted_of", "not_accepted", "started", "by"]
    list_filter = ["state"]
    list_select_related = ["campaign", "project"]
    search_fields = ["campaign__name"]
    search_help_text = gettext_lazy("Name of the campaign")
    sortable_by = ()
    actions_detail = [
        "pause", "resume", "rate", "cancel", "restore", "send_again", "let_be", "duplicate",
    ]  # fmt: skip
    empty_text = gettext_lazy("Launching a campaign makes a run; here you watch it.")

    class Media:
        css = {"all": ["run.css"]}
        js = ["run.js"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return super().get_queryset(request).select_related("campaign", "project")

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        return []  # the page draws its own, which follow the state without a reload

    # --- The list ------------------------------------------------------------------------------

    @display(description=gettext_lazy("run"))
    def name(self, obj: Run) -> str:
        return f"{obj.pk} · {obj.campaign}"

    @display(description=gettext_lazy("state"), label=STATE_COLOURS)
    def stands(self, obj: Run) -> tuple[str, str]:
        return obj.state, str(Run.State(obj.state).label)

    @display(description=gettext_lazy("progress"))
    def progress(self, obj: Run) -> SafeString | str:
        if obj.planned is None:
            return "–"
        settled = obj.planned - obj.waiting
        part = share(settled, obj.planned)
        return format_html(
            '<span class="c-meter"><progress max="100" value="{0}" aria-label="{1}">'
            "</progress><span>{0} %</span></span>",
            part,
            _("%(share)s %% done") % {"share": part},
        )

    @display(description=gettext_lazy("accepted"))
    def accepted_of(self, obj: Run) -> str:
        if obj.planned is None:
            return "–"  # counted when it starts
        numbers = {"accepted": f"{obj.accepted:,}", "planned": f"{obj.planned:,}"}
        return _("%(accepted)s of %(planned)s") % numbers

    @display(description=gettext_lazy("not accepted"))
    def not_accepted(self, obj: Run) -> str:
        return "–" if obj.planned is None else f"{obj.rejected + obj.skipped + obj.unknown:,}"

    @display(description=gettext_lazy("started"))
    def started(self, obj: Run) -> str:
        zone = obj.project.timezone
        if obj.started_at:
            return in_zone(obj.started_at, zone)
        return _("due %(when)s") % {"when": in_zone(obj.scheduled_at, zone)}

    @display(description=gettext_lazy("launched by"))
    def by(self, obj: Run) -> str:
        return who(obj.launched_by)

    # --- Verbs ---------------------------------------------------------------------------------

    @action(
        description=gettext_lazy("Pause"),
        icon="pause",
        permissions=MAY,
        dialog=ask(
            gettext_lazy("Pause this run?"),
            text=gettext_lazy(
                "Nothing new leaves within two seconds. It goes on where it stopped when you "
                "resume it; nobody is sent to twice by pausing."
            ),
            button=gettext_lazy("Pause"),
        ),
    )
    def pause(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        return self._move(request, form, object_id, control.pause, _("Run %(number)d is paused."))

    @action(
        description=gettext_lazy("Resume"),
        icon="play_arrow",
        permissions=MAY,
        dialog=ask(
            gettext_lazy("Resume this run?"),
            form=ResumeDialog,
            button=gettext_lazy("Resume"),
        ),
    )
    def resume(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        return self._move(
            request, form, object_id, control.resume, _("Run %(number)d is on its way again.")
        )

    @action(
        description=gettext_lazy("Change the rate"),
        icon="speed",
        permissions=MAY,
        dialog=ask(
            gettext_lazy("Change the rate?"), form=RateDialog, button=gettext_lazy("Change it")
        ),
    )
    def rate(self, request: HttpRequest, form: RateDialog, object_id: str) -> HttpResponse:
        rate = form.cleaned_data["rate"]

        def change(run: Run, *, by: str) -> None:
            control.change_rate(run, rate, by=by)

        return self._move(request, form, object_id, change, _("Run %(number)d is at its new rate."))

    @action(
        description=gettext_lazy("Cancel"),
        icon="close",
        permissions=MAY,
        dialog=ask(
            gettext_lazy("Cancel this run?"),
            form=CancelDialog,
            button=gettext_lazy("Cancel the run"),
        ),
    )
    def cancel(self, request: HttpRequest, form: CancelDialog, object_id: str) -> HttpResponse:
        said = form.told  # before it is cancelled: then the next one is no longer the next
        return self._move(request, form, object_id, control.cancel, said)

    @action(
        description=gettext_lazy("Take back retired devices"),
        icon="undo",
        permissions=MAY,
        dialog=ask(
            gettext_lazy("Take back retired devices?"),
            form=RestoreDialog,
            button=gettext_lazy("Take them back"),
        ),
    )
    def restore(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        run = Run.objects.select_related("project", "campaign").get(pk=object_id)
        restored = control.restore_devices(run, by=actor(request))
        said = ngettext(
            "%(count)s device receives pushes again.",
            "%(count)s devices receive pushes again.",
            restored,
        )
        return done(request, said % {"count": f"{restored:,}"}, to=page_url(run))

    @action(
        description=gettext_lazy("Send again"),
        icon="replay",
        permissions=MAY,
        dialog=ask(
            gettext_lazy("Send to them again?"),
            form=SendAgainDialog,
            button=gettext_lazy("Send again"),
        ),
    )
    def send_again(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        said = _("Run %(number)d sends to them once more.")
        return self._move(request, form, object_id, control.send_again, said)

    @action(
        description=gettext_lazy("Keep as unknown"),
        icon="done_all",
        permissions=MAY,
        dialog=ask(
            gettext_lazy("Keep them as unknown?"),
            form=LetBeDialog,
            button=gettext_lazy("Keep as unknown"),
        ),
    )
    def let_be(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        said = _("The unknown of run %(number)d stay as they are.")
        return self._move(request, form, object_id, control.let_be, said)

    @action(
        description=gettext_lazy("Duplicate as a new campaign"),
        icon="content_copy",
        permissions=["copy"],
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
        run = Run.objects.select_related("campaign__project").get(pk=object_id)
        copy = run.campaign.duplicate()
        self.record(request, "created", copy, copied_from=run.campaign_id)
        said = _("“{name}” is a copy. Change what you like.").format(name=copy)
        return done(request, said, to=page_url(copy))

    def _move(
        self,
        request: HttpRequest,
        form: Dialog,
        object_id: str,
        verb: Callable[..., object],
        said: str,
    ) -> HttpResponse:
        run = Run.objects.select_related("project", "campaign").get(pk=object_id)
        try:
            verb(run, by=actor(request))
        except Run.InvalidMove as error:
            faster = _("Somebody else, or the run itself, was faster.")
            return refused(request, form, f"{error} {faster}")
        except OperationalError:  # a snapshot of millions holds the run for longer than we wait
            again = _("The run is being prepared. Try again in a moment.")
            return refused(request, form, again)
        tasks.ring(run.pk)
        return done(request, said % {"number": run.pk}, to=page_url(run))
