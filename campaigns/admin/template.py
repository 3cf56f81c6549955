"""Templates: what they read, with a live preview for a real person."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_POST

from campaigns.admin import preview
from campaigns.admin.places import shown
from campaigns.admin.revisions import WithRevisions
from campaigns.admin.template_form import TemplateForm, unsaved
from campaigns.template import Template
from notifications.admin.keyset import row_id
from notifications.admin.unfolded import display
from notifications.device import Device
from notifications.options import PLATFORMS
from notifications.project import Project


@admin.register(Template)
class TemplatePage(WithRevisions):
    form = TemplateForm
    list_display = ["name", "reads", "languages", "used"]
    list_select_related = ["project"]
    search_fields = ["name", "title"]
    search_help_text = "Name or title"
    fields = ["project", "name", "title", "body", "image", "link", "data", "options", "locales",
              "seen"]  # fmt: skip
    empty_text = "A template is the text people read, with their name and language in it."

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(campaign_count=Count("campaigns"))

    def get_urls(self) -> list[Any]:
        view = self.guarded(require_POST(self.preview_view))
        return [path("preview/", view, name="template_preview"), *super().get_urls()]

    @display(description="title")
    def reads(self, obj: Template) -> str:
        return obj.title if len(obj.title) <= 80 else f"{obj.title[:79]}…"

    @display(description="languages")
    def languages(self, obj: Template) -> str:
        return ", ".join(["its own", *sorted(obj.locales)])

    @display(description="used by", ordering="campaign_count")
    def used(self, obj: Any) -> str:
        count = obj.campaign_count
        return f"{count:,} campaign{'' if count == 1 else 's'}" if count else "–"

    def used_by(self, obj: Template) -> list[str]:
        return [f"the campaign “{campaign}”" for campaign in obj.campaigns.all()[:10]]

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        context["platforms"] = [
            (label, PLATFORMS[name].items()) for name, label in Device.Platform.choices
        ]
        template = context.get("original")
        if template is not None:
            context |= self.history(template)
        form = context["adminform"].form
        context["meanwhile"] = meanwhile = getattr(form, "meanwhile", None)
        if meanwhile is not None:
            context |= {"taken": shown(meanwhile.taken), "disputed": shown(meanwhile.disputed)}
        return super().render_change_form(request, context, *args, **kw)

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """The form's texts for one person; nothing is saved. Redrawn while one types."""
        posted = request.POST
        project = Project.objects.filter(pk=row_id(posted.get("project")) or 0).first()
        if project is None:
            context: dict[str, Any] = {"no_project": True}
        else:
            context = self._preview(posted, project)
        return render(request, "admin/campaigns/template/preview.html", context)

    def _preview(self, posted: Any, project: Project) -> dict[str, Any]:
        template, problems = unsaved(posted, project)
        content = template.frozen()
        asked = posted.get("preview_person", "").strip()
        person = preview.somebody(project, asked)
        locale = posted.get("preview_locale", "")
        locale = locale if locale in content["locales"] else ""
        cards = [] if problems else preview.cards(content, person, locale=locale)
        asked_platform = posted.get("preview_platform", "")
        platform = asked_platform if asked_platform in PLATFORMS else "android"
        labelled = {TemplateForm.base_fields[name].label or name.capitalize(): found
                    for name, found in problems.items()}  # fmt: skip
        return {
            "problems": labelled,
            "cards": cards,
            "card": next((card for card in cards if card.platform == platform), None),
            "variables": [] if problems else preview.variables(content, project),
            "person": person,
            "unknown_person": asked if asked and person is None else "",
            "locale": locale,
            "platform": platform,
            "locales": sorted(content["locales"]),
            "project_name": project.name,
        }
