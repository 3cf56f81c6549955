"""Page: the base of our admin pages. Scopes rows to a project, audits changes, deletes safely."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import flatten
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Model, ProtectedError, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from notifications.admin.ui.current_project import current_project, filter_by_project
from notifications.admin.ui.dialogs import gone, is_page
from notifications.admin.ui.keyset import CappedPaginator, KeysetChangeList, PlainChangeList
from notifications.admin.ui.unfolded import (
    ChangeList,
    ModelAdmin,
    ModelForm,
    checkbox,
    display,
)
from notifications.admin.ui.widgets import ZoneField, ZoneInput
from notifications.people.project import Project
from notifications.postgres.outage import retry_during_outage
from notifications.staff import audit, changes

MAX_WORDS, LONGEST_SEARCH = 10, 200


def actor(request: HttpRequest) -> str:
    user = request.user
    return "user:nobody" if isinstance(user, AnonymousUser) else f"user:{user.get_username()}"


def page_url(row: Model) -> str:
    meta = row._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])


def keep_as_stored(context: Any) -> None:
    """After a refused form, show the stored row. Only the fields keep what was typed."""
    form, row = context["adminform"].form, context.get("original")
    if row is not None and form.errors:
        stored = type(row)._default_manager.filter(pk=row.pk).first()
        form.instance = context["original"] = stored or row


@cache
def _checkbox(language: str | None) -> str:
    """A row's checkbox as HTML, rendered once. Rendering each took a quarter of a list's time."""
    return checkbox.render(ACTION_CHECKBOX_NAME, "row").replace('value="row"', 'value="{}"')


class Page(ModelAdmin):
    """The base class of all our lists and forms."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # they count every row, once for each choice
    list_per_page = 50
    warn_unsaved_form = True
    # In every form: the project it was opened in, which may no longer be the chosen one.
    change_form_before_template = "admin/settled_project.html"
    # Rows are deleted one at a time, each with a confirmation; never “all 1,000,000 selected”.
    actions = None
    has_project = True

    @display(description=_lazy("Select record"))
    def action_checkbox(self, obj: Model) -> SafeString:
        return format_html(_checkbox(get_language()), obj.pk)

    endless = False  # a list that may hold a million rows
    shown_only = False  # once created, a row is not edited: there are only actions
    goes_along: Any = ""  # what is deleted with a row, for the confirmation
    # An empty list says what belongs here, not “no results”.
    empty_text: Any = ""
    add_text: Any = ""  # instead of “Add …”
    other_way: Any = ""  # beside it on an empty list: a link

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return KeysetChangeList if self.endless else PlainChangeList

    # --- Scoping -------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Rows of the chosen project, for lists, counts, forms, autocomplete and search."""
        everything: QuerySet[Any] = super().get_queryset(request)
        return self.of_project(request, everything) if self.has_project else everything

    def of_project(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        return filter_by_project(request, rows)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search for the first words only: each word adds a condition on each field."""
        words = search_term[:LONGEST_SEARCH].split()[:MAX_WORDS]
        if words != search_term.split():
            search_term = " ".join(words)
            text = _("Only the first %(words)s words and %(letters)s letters are searched for.")
            counts = {"words": MAX_WORDS, "letters": LONGEST_SEARCH}
            messages.warning(request, text % counts)
        results: tuple[QuerySet[Any], bool] = super().get_search_results(
            request, queryset, search_term
        )
        return results

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "timezone":
            kwargs |= {"form_class": ZoneField, "widget": ZoneInput()}
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if change and not self.has_change_permission(request, obj):
            # Nothing can be edited, so there are no fields, which our own forms rely on.
            kwargs["form"] = ModelForm
        form = super().get_form(request, obj, change=change, **kwargs)
        if field := form.base_fields.get("project"):
            _settle(field, current_project(request), change)
        return form

    def guarded(self, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        """Wrap a custom view, so that it requires permission to view these rows."""

        def for_those_who_may(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.has_view_permission(request):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return self.admin_site.admin_view(for_those_who_may)

    def guarded_paths(self, ours: list[tuple[str, Callable[..., Any], str]]) -> list[URLPattern]:
        """URL patterns of guarded custom views, from (path, view, name)."""
        return [path(place, self.guarded(view), name=name) for place, view, name in ours]

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        keep_as_stored(context)
        row, mine = context.get("original"), current_project(request)
        if self.shown_only:
            context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
            if row is not None:
                context["show_save"] = False
        # A disabled field is not posted; requests beside the form need the project, too.
        verbs = self._extract_action_names(self.actions_detail)  # type: ignore[attr-defined]  # Unfold's
        context["may"] = {verb: self.opens(request, verb) for verb in verbs}
        if self.has_project:
            settled = getattr(row, "project_id", None) or (mine.pk if mine else None)
            context["settled_project"] = settled
            context.setdefault("zone", mine.timezone if mine else "UTC")
        return super().render_change_form(request, context, *args, **kwargs)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to create a project first, if there is none: the form would need one."""
        may_begin = request.user.has_perm("notifications.add_project")
        if self.has_project and may_begin and not Project.objects.exists():
            messages.info(request, _("Create a project first: everything else belongs to one."))
            return HttpResponseRedirect(reverse("admin:notifications_project_add"))
        return super().add_view(request, form_url, extra_context)

    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Run the view in one transaction, and retry it if it collides with another one."""
        view = super().changeform_view
        return retry_during_outage(lambda: view(*args, **kwargs), seconds=0)

    # --- Verbs ---------------------------------------------------------------------------------

    def _get_instance_method(self, method_name: str) -> Callable[..., Any]:
        """Wrap each action that Unfold looks up, and so its dialog: the user's role must permit it,
        and the row must still exist."""
        verb: Callable[..., Any] = super()._get_instance_method(method_name)  # type: ignore[misc]

        @wraps(verb)
        def of_a_row(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if not self.opens(request, method_name):
                raise PermissionDenied
            row = self.get_object(request, kwargs["object_id"]) if "object_id" in kwargs else None
            if "object_id" in kwargs and row is None:
                return gone(request)
            if row is not None and is_page(request):
                return HttpResponseRedirect(page_url(row))
            return verb(request, *args, **kwargs)

        return of_a_row

    # --- Roles ---------------------------------------------------------------------------------

    def _filter_unfold_actions_by_permissions(
        self, request: HttpRequest, actions: list[Any], object_id: Any = None
    ) -> list[Any]:
        """Hide buttons that the user's role does not permit: check each action's permission."""
        allowed: list[Any] = super()._filter_unfold_actions_by_permissions(  # type: ignore[misc]
            request, actions, object_id
        )
        return [action for action in allowed if self.opens(request, action.method.__name__)]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        # Users who only view see the row's own fields, not those that only a form has.
        return [
            (title, {**options, "fields": self._own_fields(options)})
            for title, options in fieldsets
        ]

    def _own_fields(self, options: Any) -> list[str]:
        names = flatten(options["fields"])
        return [name for name in names if hasattr(self.model, name) or hasattr(self, name)]

    def opens(self, request: HttpRequest, verb: str) -> bool:
        """Whether the user's role has the permission `<verb>_<model>`; see `config/doors.py`."""
        return request.user.has_perm(f"{self.opts.app_label}.{verb}_{self.opts.model_name}")

    # --- Audit ---------------------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        stored = self.model._base_manager.filter(pk=obj.pk).first() if change else None
        before = changes.values_of(stored)
        super().save_model(request, obj, form, change)
        if form.changed_data or not change:
            self.record(
                request,
                "changed" if change else "created",
                obj,
                fields=form.changed_data,
                changes=changes.between(before, obj),
            )

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.record(request, "deleted", obj)
        super().delete_model(request, obj)

    def record(self, request: HttpRequest, action: str, obj: Any, **detail: Any) -> None:
        project = obj if isinstance(obj, Project) else getattr(obj, "project", None)
        audit.record(actor(request), action, obj, project=project, **detail)

    # --- Deleting ------------------------------------------------------------------------------

    def used_by(self, obj: Any) -> list[str]:
        """Names of what uses the row. They prevent its deletion."""
        return []

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List only the rows themselves. Django would list all dependents: 100,000 members, say."""
        rows = list(objs)
        return [str(row) for row in rows], {self.opts.verbose_name_plural: len(rows)}, set(), []

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        if row is not None and self.has_delete_permission(request, row):
            if users := self.used_by(row):
                why = _("It is used by %(names)s.") % {"names": ", ".join(users)}
                return self._refuse_deletion(request, row, why)
            context = {"goes_along": self.goes_along, **(extra_context or {})}
            delete = super().delete_view
            try:
                return retry_during_outage(lambda: delete(request, object_id, context), seconds=0)
            except ProtectedError:  # something used it between the question and the answer
                return self._refuse_deletion(
                    request, row, _("Something started using it a moment ago.")
                )
        return super().delete_view(request, object_id, extra_context)

    def _refuse_deletion(self, request: HttpRequest, row: Model, why: str) -> HttpResponse:
        text = _("“%(name)s” was not deleted. %(why)s Change or delete that first.")
        messages.error(request, text % {"name": row, "why": why})
        return HttpResponseRedirect(page_url(row))


class ReadOnlyPage(Page):
    """A page of records that nobody adds, changes or deletes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _settle(field: forms.Field, mine: Project | None, change: bool) -> None:
    """Fix the form's project: a row never moves, and the user chose it beside the search."""
    if isinstance(field.widget, RelatedFieldWidgetWrapper):
        field.widget = field.widget.widget  # no link to create a project from here
    if mine is not None:
        field.widget, field.initial = forms.HiddenInput(), mine.pk
    # Disabled, not left out: Django does not check a left-out field for uniqueness.
    field.disabled = change or mine is not None
