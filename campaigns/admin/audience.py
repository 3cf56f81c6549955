"""Audiences: who shall hear of it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_POST

from campaigns.admin import forecast, membership
from campaigns.admin.audience_form import AudienceForm
from campaigns.admin.words import sentence
from campaigns.audience import Audience, Member, explain, validate_rules
from campaigns.rules import leaves
from notifications.admin.json_field import JSONText
from notifications.admin.keyset import row_id
from notifications.admin.page import Page
from notifications.admin.unfolded import display
from notifications.contact import Contact
from notifications.project import Project

SHOWN_MEMBERS = 20


@admin.register(Audience)
class AudiencePage(Page):
    form = AudienceForm
    list_display = ["name", "kind", "says", "used"]
    list_filter = ["kind"]
    search_fields = ["name"]
    search_help_text = "Name"
    list_select_related = ["project"]
    fields = ["project", "name", "kind", "rules", "mode", "people"]
    conditional_fields = {
        "rules": "kind == 'rules'",
        "people": "kind == 'list'",
        "mode": "kind == 'list'",
    }
    empty_text = (
        "An audience says who shall hear of it: rules over what your app told us, or a list."
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(campaign_count=Count("campaigns"))

    def get_urls(self) -> list[Any]:
        count = self.guarded(require_POST(self.count_view))
        return [path("count/", count, name="audience_count"), *super().get_urls()]

    # --- The list ------------------------------------------------------------------------------

    @display(description="who")
    def says(self, obj: Audience) -> str:
        if obj.kind == Audience.Kind.LIST:
            return f"{obj.members.count():,} people, listed by hand"
        text = sentence(obj.rules, project_id=obj.project_id)
        return text if len(text) <= 90 else f"{text[:89]}…"

    @display(description="used by", ordering="campaign_count")
    def used(self, obj: Any) -> str:
        count = obj.campaign_count
        return f"{count:,} campaign{'' if count == 1 else 's'}" if count else "–"

    # --- Saving and deleting -------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.kind == Audience.Kind.LIST and form.pasted:
            done = membership.change(obj, form.cleaned_data["mode"], form.pasted)
            self.record(request, "changed members", obj, added=done.added, removed=done.removed)
            messages.info(request, f"{obj}: {done}")

    def used_by(self, obj: Audience) -> list[str]:
        campaigns = [f"the campaign “{campaign}”" for campaign in obj.campaigns.all()[:10]]
        others = Audience.objects.filter(project=obj.project_id).exclude(pk=obj.pk)
        named = (other for other in others if _names_list(other, obj.pk))
        return [*campaigns, *(f"the rules of the audience “{other}”" for other in named)]

    # --- Beside the form -----------------------------------------------------------------------

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        audience = context.get("original")
        if audience is not None and audience.kind == Audience.Kind.LIST:
            members = Member.objects.filter(audience=audience).select_related("contact")
            context["members"] = members.order_by("-pk")[:SHOWN_MEMBERS]
            context["member_count"] = members.count()
        return super().render_change_form(request, context, *args, **kw)

    def count_view(self, request: HttpRequest) -> HttpResponse:
        """What stands in the form at this moment, saved or not: how many, and who."""
        try:
            project = Project.objects.get(pk=row_id(request.POST.get("project")) or 0)
            tree = _tree(request, project)
            context = self._found(request, project, tree)
        except Project.DoesNotExist:
            context = {"problems": ["Choose a project first."]}
        except ValidationError as error:
            context = {"problems": error.messages}
        return render(request, "admin/campaigns/audience/count.html", context)

    def _found(self, request: HttpRequest, project: Project, tree: Any) -> dict[str, Any]:
        context = {"said": sentence(tree, project_id=project.pk)}
        if external_id := request.POST.get("person", "").strip():
            contact = Contact.objects.filter(project=project, external_id=external_id).first()
            explained = explain(contact, tree) if contact else None
            return {**context, "asked": external_id, "contact": contact, "explained": explained,
                    "leaves": _leaves(explained, project) if explained else []}  # fmt: skip
        return {**context, "reach": forecast.reach(project.pk, tree)}


def _tree(request: HttpRequest, project: Project) -> Any:
    saved = Audience.objects.filter(project=project, pk=row_id(request.POST.get("audience")) or 0)
    if request.POST.get("kind") == Audience.Kind.LIST or saved.filter(kind="list").exists():
        if not saved.exists():
            raise ValidationError("Save the list first; then it can be counted.")
        return saved.get().effective_rules
    tree = JSONText(required=True).clean(request.POST.get("rules", ""))
    validate_rules(tree, project_id=project.pk)
    return tree


def _leaves(explained: dict[str, Any], project: Project) -> list[dict[str, Any]]:
    return [
        {
            "said": sentence(leaf, project_id=project.pk),
            "holds": leaf["holds"],
            "seen": leaf["seen"],
        }
        for leaf in leaves(explained)
    ]


def _names_list(audience: Audience, pk: int) -> bool:
    asked = (leaf.get("value") for leaf in leaves(audience.rules) if leaf["field"] == "list")
    return any(pk in (value if isinstance(value, list) else [value]) for value in asked)
