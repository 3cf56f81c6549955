"""Imports: the list, the upload page, and the page of one import from its upload to its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_htmx.http import HttpResponseClientRedirect

from notifications import imports, tasks
from notifications.admin.importing import columns, picture, refusals, samples, upload
from notifications.admin.importing.dialogs import ImportDialog, StartDialog, StopDialog
from notifications.admin.importing.states import STATE_COLOURS, rail
from notifications.admin.ui.current_project import current_project, several
from notifications.admin.ui.dialogs import ask, refused
from notifications.admin.ui.page import Page, actor, page_url
from notifications.admin.ui.unfolded import action, display
from notifications.people.importing.model import Import
from notifications.people.importing.upload import beginning
from notifications.staff.actors import who
from notifications.task_queue import enqueue_on_commit
from notifications.values.moments import in_zone
from notifications.values.shares import share

SHOWN_UNFINISHED = 5
ENDED = (Import.State.FINISHED, Import.State.STOPPED, Import.State.FAILED)


@admin.register(Import)
class ImportPage(Page):
    list_display = [
        "file",
        "mode_label",
        "state_label",
        "result",
        "refused_rows",
        "began",
        "created_by",
    ]
    list_filter = ["state"]
    search_fields = ["name"]
    search_help_text = gettext_lazy("Name of the file")
    list_select_related = ["project"]
    sortable_by = ()
    shown_only = True
    actions_detail = ["start", "stop", "resume"]
    goes_along = gettext_lazy("The file and its refused rows go with it. People stay as they are.")
    add_text = gettext_lazy("Import a file")
    empty_text = gettext_lazy(
        "Bring your own people: a CSV, a TSV or a zip of them. You see what it would do first."
    )

    class Media:
        css = {"all": ["import.css"]}

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        return []  # the page draws its own buttons, which follow the state without a reload

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # it changes only through its actions

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """An import that changed people is kept as a record."""
        begun = obj is not None and (obj.started_at is not None or obj.under_way)
        return not begun and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        imports.discard(obj, by=actor(request))

    def get_urls(self) -> list[Any]:
        ours: list[tuple[str, Callable[..., Any], str]] = [
            ("template.csv", samples.template_view, "import_template"),
            ("sample.csv", samples.sample_view, "import_sample"),
            ("begin/", upload.begin, "import_begin"),
            ("<int:import_id>/part/<str:number>/", upload.part, "import_part"),
            ("<int:import_id>/finish/", upload.finish, "import_finish"),
            ("<int:import_id>/cancel/", upload.cancel, "import_cancel"),
            ("<int:import_id>/columns/", self.columns_view, "import_columns"),
            ("<int:import_id>/encoding/", self.encoding_view, "import_encoding"),
            ("<int:import_id>/live/", self.live_view, "import_live"),
            ("<int:import_id>/refused.csv", refusals.csv_view, "import_refused"),
        ]
        return [*self.guarded_paths(ours), *super().get_urls()]

    # --- The list ------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Import]:
        return super().get_queryset(request).select_related("project").defer("position")

    @display(description=gettext_lazy("file"))
    def file(self, obj: Import) -> str:
        return obj.name

    @display(description=gettext_lazy("mode"))
    def mode_label(self, obj: Import) -> str:
        return obj.get_mode_display()

    @display(description=gettext_lazy("state"), label=STATE_COLOURS)
    def state_label(self, obj: Import) -> tuple[str, str]:
        return obj.state, obj.get_state_display()

    @display(description=gettext_lazy("result"))
    def result(self, obj: Import) -> str:
        return picture.in_short(obj)

    @display(description=gettext_lazy("refused"))
    def refused_rows(self, obj: Import) -> str:
        return f"{obj.refused:,}" if obj.rows else "–"

    @display(description=gettext_lazy("started"))
    def began(self, obj: Import) -> str:
        return in_zone(obj.created_at, obj.project.timezone)

    @display(description=gettext_lazy("by"))
    def created_by(self, obj: Import) -> str:
        return who(obj.by)

    # --- A new one -----------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        project = current_project(request)
        if project is None:
            return super().add_view(request, form_url, extra_context)
        begun = self.get_queryset(request).filter(state=Import.State.UPLOADING)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Import a file"),
            "opts": self.opts,
            "project": project,
            "zone": project.timezone,
            "settled_project": project.pk,
            "several_projects": several(request),
            "rail": rail(Import.State.UPLOADING),
            "example": samples.EXAMPLE,
            "may_import": self.has_add_permission(request),
            "unfinished": [_unfinished(file_import) for file_import in begun[:SHOWN_UNFINISHED]],
        }
        return TemplateResponse(request, "admin/notifications/import/add.html", context)

    # --- One -----------------------------------------------------------------------------------

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the current step instead of Django's form."""
        file_import = self.get_object(request, object_id)
        if file_import is None:
            return super().change_view(request, object_id, form_url, extra_context)
        return self.page_of(request, file_import)

    def columns_view(self, request: HttpRequest, import_id: int) -> HttpResponse:
        """Save the form of step 2 and start the check, or show it again with its problems."""
        file_import = self._find_import(request, import_id)
        if request.method != "POST":
            return HttpResponseRedirect(page_url(file_import))
        try:
            columns.keep(file_import, request.POST)
            imports.check(file_import, by=actor(request))
        except ValidationError as error:
            return self.page_of(
                request, file_import, form=columns.form_again(file_import, request.POST, error)
            )
        except Import.InvalidMove as error:
            messages.error(request, str(error))
        else:
            enqueue_on_commit(tasks.work_on_import, import_id=file_import.pk)
        return HttpResponseRedirect(page_url(file_import))

    def encoding_view(self, request: HttpRequest, import_id: int) -> HttpResponse:
        """Step 2 in another encoding, shown while nothing is checked."""
        file_import = self._find_import(request, import_id)
        if request.method != "POST":
            return HttpResponseRedirect(page_url(file_import))
        try:
            form = columns.in_another_encoding(file_import, request.POST)
        except Import.InvalidMove as error:
            messages.error(request, str(error))
            return HttpResponseClientRedirect(page_url(file_import))
        return self.page_of(request, file_import, form=form)

    def live_view(self, request: HttpRequest, import_id: int) -> HttpResponse:
        """The live part of the page, requested every second while a worker is busy."""
        file_import = self._find_import(request, import_id)
        if file_import.state in (Import.State.UPLOADING, Import.State.READY):
            return HttpResponseClientRedirect(page_url(file_import))  # its check had been stopped
        context = {**self._live(request, file_import), "about": picture.about(file_import)}
        context["speaks"] = request.GET.get("seen") != context["seen"]
        return render(request, "admin/notifications/import/live.html", context)

    def page_of(
        self, request: HttpRequest, one: Import, *, form: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": one.name,
            "opts": self.opts,
            "original": one,
            "row": one,
            "rail": rail(one.state),
            "about": picture.about(one),
            "settled_project": one.project_id,
            "may_import": self.has_add_permission(request),
            "may_delete": self.has_delete_permission(request, one),
        }
        again = one.state == Import.State.CHECKED and "columns" in request.GET
        if one.state == Import.State.READY or again or form:
            context |= form or columns.form(one)
        elif one.state != Import.State.UPLOADING:
            context |= self._live(request, one)
        return TemplateResponse(request, "admin/notifications/import/one.html", context)

    def _find_import(self, request: HttpRequest, import_id: int) -> Import:
        return get_object_or_404(self.get_queryset(request), pk=import_id)

    def _live(self, request: HttpRequest, file_import: Import) -> dict[str, Any]:
        buttons = [
            {
                "name": name,
                "label": label,
                "url": reverse(f"admin:notifications_import_{name}", args=[file_import.pk]),
            }
            for name, label in picture.verbs_of(file_import)
            if self.opens(request, name)
        ]
        return {
            **picture.describe(file_import, timezone.now(), before=request.GET.get("mark", "")),
            "verbs": buttons,
            "may_import": (may := self.has_add_permission(request)),
            "again": file_import.state in ENDED,
            "lists": may and picture.has_people(file_import),
        }

    # --- Verbs ---------------------------------------------------------------------------------

    @action(
        description=gettext_lazy("Import"),
        permissions=["view"],
        dialog=ask(gettext_lazy("Import?"), form=StartDialog, button=gettext_lazy("Import")),
    )
    def start(self, request: HttpRequest, form: ImportDialog, object_id: str) -> HttpResponse:
        return self._move_import(request, form, imports.start)

    @action(
        description=gettext_lazy("Continue"),
        permissions=["view"],
        dialog=ask(
            gettext_lazy("Continue this import?"),
            form=ImportDialog,
            text=gettext_lazy("It continues with the people who were not imported yet."),
            button=gettext_lazy("Continue"),
        ),
    )
    def resume(self, request: HttpRequest, form: ImportDialog, object_id: str) -> HttpResponse:
        return self._move_import(request, form, imports.start)

    @action(
        description=gettext_lazy("Stop"),
        permissions=["view"],
        dialog=ask(
            gettext_lazy("Stop it?"), form=StopDialog, button=gettext_lazy("Stop"), danger=True
        ),
    )
    def stop(self, request: HttpRequest, form: ImportDialog, object_id: str) -> HttpResponse:
        return self._move_import(request, form, imports.stop)

    def _move_import(
        self, request: HttpRequest, form: ImportDialog, move: Callable[..., None]
    ) -> HttpResponse:
        """Start or stop the import, and reload its page, which shows what happens next."""
        file_import = form.row
        try:
            move(file_import, by=actor(request), now=timezone.now())
        except Import.InvalidMove as error:
            return refused(request, form, str(error))
        except ValidationError as error:
            return refused(request, form, " ".join(error.messages))
        if file_import.under_way:
            enqueue_on_commit(tasks.work_on_import, import_id=file_import.pk)
        return HttpResponseClientRedirect(page_url(file_import))


def _unfinished(file_import: Import) -> dict[str, Any]:
    return {
        "row": file_import,
        "whose": who(file_import.by),
        "share": share(beginning(file_import).bytes, file_import.size),
    }
