"""Audiences: the list, the form, and its live counts of matching people."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_GET, require_POST

from campaigns import tasks
from campaigns.audiences import membership
from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.behavior.kinds import KINDS
from campaigns.audiences.lists import filling
from campaigns.audiences.pages import audience_preview, builder, builder_kinds
from campaigns.audiences.pages.form import AudienceForm, last_saved
from campaigns.audiences.pages.list import AudienceList
from campaigns.audiences.pages.list_of_import import of_import_view
from campaigns.audiences.rules import is_field
from campaigns.audiences.words import broken, sentence
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.admin.ui import used_by
from notifications.admin.ui.copying import copied, copying
from notifications.admin.ui.current_project import named
from notifications.admin.ui.dialogs import Dialog, ask, close_dialog, refused
from notifications.admin.ui.page import Page, actor, page_url
from notifications.admin.ui.unfolded import action, display
from notifications.task_queue import enqueue_on_commit
from notifications.values.moments import short

SHOWN_MEMBERS = 20
MAX_ASKED = 100
MAX_USERS = 20
SIZE = "admin/campaigns/audience/size.html"


@admin.register(Audience)
class AudiencePage(Page):
    form = AudienceForm
    list_display = ["name", "kind", "says", "how_many", "used"]
    list_filter = ["kind"]
    search_fields = ["name"]
    search_help_text = gettext_lazy("Name")
    list_select_related = ["project"]
    fields = ["project", "name", "kind", "rules", "people", "mode"]
    conditional_fields = {
        "rules": "kind == 'rules'",
        "people": "kind == 'list'",
        "mode": "kind == 'list'",
    }
    actions_detail = ["duplicate", "freeze"]
    empty_text = gettext_lazy(
        "An audience is the people a campaign goes to: rules about what your app reported, "
        "or a list."
    )

    class Media:
        # audience.css also styles what is beside the builder, which users who only view see, too.
        css = {"all": ["draft.css", "audience.css"]}
        js = ["draft.js"]

    def get_queryset(self, request: HttpRequest) -> Any:
        count = used_by.count_of(Campaign.objects, "audience")
        return super().get_queryset(request).annotate(campaign_count=count)

    def get_urls(self) -> list[Any]:
        views = {
            "count": require_POST(self.count_view),
            "people": require_POST(self.people_view),
            "person": require_POST(self.person_view),
            "choices": require_GET(self.choices_view),
            "values": require_GET(self.values_view),
        }
        own = [
            path(f"{name}/", self.guarded(view), name=f"audience_{name}")
            for name, view in views.items()
        ]
        size = self.guarded(require_POST(self.size_view))
        of_import = path(
            "from-import/<int:import_id>/", self.guarded(of_import_view), name="import_list"
        )
        of_one = path("<int:pk>/size/", size, name="audience_size")
        refill = self.guarded(require_POST(self.refill_view))
        again = path("<int:pk>/refill/", refill, name="audience_refill")
        return [of_import, of_one, again, *own, *super().get_urls()]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None and not self.has_change_permission(request, obj):
            return ["name", "kind", "in_words"]
        # A new list has nobody to remove.
        return [name for name in super().get_fields(request, obj) if obj or name != "mode"]

    # --- The list ------------------------------------------------------------------------------

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[AudienceList]:
        return AudienceList

    @display(description=gettext_lazy("who"))
    def says(self, obj: Any) -> str:
        return str(obj.said)

    @display(description=pgettext_lazy("field", "size"))
    def how_many(self, obj: Any) -> str:
        return render_to_string(SIZE, audience_preview.size(obj, imported=obj.imported))

    @display(description=gettext_lazy("in words"))
    def in_words(self, obj: Audience) -> str:
        return sentence(obj.effective_rules, project_id=obj.project_id)

    @display(description=gettext_lazy("used by"), ordering="campaign_count")
    def used(self, obj: Any) -> str:
        return used_by.in_words(obj.campaign_count, audiences=obj.named_by_count)

    # --- Saving, copying and deleting ----------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.kind == Audience.Kind.LIST and form.pasted:
            change_counts = membership.change(obj, form.cleaned_data["mode"], form.pasted)
            self.record(
                request,
                "changed members",
                obj,
                added=change_counts.added,
                removed=change_counts.removed,
            )
            messages.info(request, f"{obj}: {change_counts}")

    def used_by(self, obj: Audience) -> list[str]:
        return [_name_of_user(user) for user in obj.used_by()[:MAX_USERS]]

    def has_duplicate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_add_permission(request)  # no row, as an action's check requires

    @copying(
        gettext_lazy("Duplicate this audience?"),
        gettext_lazy("The copy has the last saved rules; campaigns keep using this one."),
    )
    def duplicate(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        copy = Audience.objects.get(pk=object_id).duplicate()
        return copied(self, request, copy, object_id)

    has_freeze_permission = has_duplicate_permission

    @action(
        description=gettext_lazy("Freeze as a list"),
        icon="ac_unit",
        permissions=["freeze"],
        dialog=ask(
            gettext_lazy("Freeze as a list?"),
            text=gettext_lazy(
                "This creates a static list of the people who match the last saved rules "
                "now. The list does not change by itself later."
            ),
            button=gettext_lazy("Make the list"),
        ),
    )
    def freeze(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        audience = Audience.objects.select_related("project").get(pk=object_id)
        day = short(timezone.now(), audience.project.timezone)
        try:
            audience.clean()
            frozen = filling.begin(
                audience.project_id, f"{audience.name[:70]}, {day}", audience.effective_rules
            )
        except ValidationError as error:
            return refused(request, form, " ".join(error.messages))
        self.record(request, "created", frozen, frozen_from=audience.pk)
        if not filling.at_once(frozen):
            enqueue_on_commit(tasks.fill_list, audience_id=frozen.pk)
        text = _("“{name}” is a separate list now.").format(name=frozen)
        return close_dialog(request, text, to=page_url(frozen))

    def refill_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Continue to fill a list that was given up."""
        audience = get_object_or_404(self.get_queryset(request), pk=pk)
        if filling.try_again(audience):
            self.record(request, "filled again", audience)
            enqueue_on_commit(tasks.fill_list, audience_id=audience.pk)
        return HttpResponseRedirect(page_url(audience))

    # --- Beside the form -----------------------------------------------------------------------

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        audience = context.get("original")
        if audience is not None:
            context["campaigns"] = audience.campaigns.order_by("-pk")[:10]
            context["naming"] = audience.named_by()
            context["broken"] = broken(audience.effective_rules)
            context["newest_of_mine"] = last_saved(audience, by=actor(request))
            if audience.kind == Audience.Kind.LIST:
                members = Member.objects.filter(audience=audience).select_related("contact")
                context["members"] = members.order_by("-pk")[:SHOWN_MEMBERS]
                context["member_count"] = members.count()
                context["waits_for"] = filling.waits_for(audience)
                context["standing"] = filling.standing(audience)
        return super().render_change_form(request, context, *args, **kw)

    def count_view(self, request: HttpRequest) -> HttpResponse:
        """Who matches the rules in the form, saved or not: how many, and a few of them."""
        return self._answer(request, "count", audience_preview.preview_context)

    def size_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The size of one row, counted on request: it may take seconds, so the list page does not
        wait for it."""
        audience = get_object_or_404(self.get_queryset(request), pk=pk)
        return render(request, SIZE, audience_preview.counted_anew(audience))

    def people_view(self, request: HttpRequest) -> HttpResponse:
        return self._answer(request, "people", audience_preview.others)

    def person_view(self, request: HttpRequest) -> HttpResponse:
        return self._answer(request, "person", audience_preview.about_one)

    def _answer(
        self, request: HttpRequest, part: str, about: audience_preview.PreviewPart
    ) -> HttpResponse:
        try:
            context = about(*audience_preview.read_rules(request), request.POST)
        except ValidationError as error:
            context = {
                "problems": audience_preview.problems(error),
                "only_early": audience_preview.early(error),
            }
        return render(request, f"admin/campaigns/audience/{part}.html", context)

    # --- For the builder -----------------------------------------------------------------------

    def choices_view(self, request: HttpRequest) -> JsonResponse:
        names = [name for name in request.GET.getlist("asked") if is_field(f"attributes.{name}")]
        return JsonResponse(builder.choices(_project_id(request), names[:MAX_ASKED]))

    def values_view(self, request: HttpRequest) -> JsonResponse:
        field, typed = request.GET.get("field", ""), request.GET.get("typed", "")
        project_id = _project_id(request)
        if field in KINDS:  # of these only an event's properties are suggested
            return JsonResponse(
                {"values": [], "properties": builder_kinds.properties(project_id, typed)}
            )
        suggested = builder.suggestions(project_id, field, typed) if is_field(field) else []
        return JsonResponse({"values": suggested})


def _project_id(request: HttpRequest) -> int:
    """The chosen project's id, if the request names it; else 0, which has nobody."""
    project = named(request)
    return project.pk if project else 0


def _name_of_user(user: Model) -> str:
    if isinstance(user, Run) and user.kind == Run.Kind.MESSAGES:
        return _("the messages of %(day)s (UTC)") % {"day": user.occurrence}
    if isinstance(user, Run):
        return _("run %(number)d") % {"number": user.pk}
    text = _("the campaign “%(name)s”")
    if isinstance(user, Audience):
        text = _("the rules of the audience “%(name)s”")
    return text % {"name": user}
