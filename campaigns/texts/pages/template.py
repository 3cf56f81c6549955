"""Templates: the texts of messages, with a live preview for a real person."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import F, Value
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import Variant
from campaigns.test_sends import pages as test_sends
from campaigns.test_sends.create import TextToTest, text_of_template
from campaigns.texts import preview, revision
from campaigns.texts.content import languages_of
from campaigns.texts.pages.form import TemplateForm, as_posted, unsaved
from campaigns.texts.pages.languages import Translations
from campaigns.texts.pages.list import LANGUAGES_SHOWN, LETTERS_SHOWN, TemplateList
from campaigns.texts.pages.text_page import TextPage
from campaigns.texts.template import Template
from campaigns.texts.writing import insertable, pictures
from campaigns.texts.writing.problems import locate_problems
from campaigns.texts.writing.valid_part import readable
from campaigns.triggers.automation import Automation
from notifications.admin.ui import used_by
from notifications.admin.ui.copying import copied, copying
from notifications.admin.ui.current_project import named
from notifications.admin.ui.dialogs import Dialog
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import actor
from notifications.admin.ui.unfolded import display
from notifications.fcm.options import PLATFORMS
from notifications.people import images
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.subjects import Subject

MAX_TEMPLATES = 1_000  # checked for the hosts of their images


@admin.register(Template)
class TemplatePage(TextPage):
    form = TemplateForm
    list_display = ["name", "reads", "languages", "used"]
    list_select_related = ["project"]
    search_fields = ["name", "title"]
    search_help_text = gettext_lazy("Name or title")
    # The tabs are above the texts that they switch.
    fields = ["project", "name", "locales", "title", "body", "image", "link", "buttons", "data",
              "options", "seen"]  # fmt: skip
    empty_text = gettext_lazy(
        "A template is the text people read, with their name and language in it."
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        counts = {
            "main_count": used_by.count_of(Campaign.objects, "template"),
            "variant_count": used_by.count_of(Variant.objects, "template"),
            "automation_count": used_by.count_of(Automation.objects, "template"),
        }
        templates = super().get_queryset(request).annotate(**counts)
        return templates.annotate(user_count=sum(map(F, counts), Value(0)))

    def get_urls(self) -> list[Any]:
        preview_page = self.guarded(require_POST(self.preview_view))
        variables_page = self.guarded(require_POST(self.variables_view))
        tests = [("test/", self.test_view, "campaigns_template_test")]
        return [
            path("preview/", preview_page, name="template_preview"),
            path("variables/", variables_page, name="template_variables"),
            path("hosts/<int:id>/", self.guarded(self.hosts_view), name="template_hosts"),
            *self.guarded_paths(tests),
            *test_sends.urls(self),
            *Translations(self).urls(),
            *super().get_urls(),
        ]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[TemplateList]:
        return TemplateList

    @display(description=gettext_lazy("as it is read"))
    def reads(self, obj: Any) -> SafeString:
        title, body = (Truncator(text).chars(LETTERS_SHOWN) for text in obj.as_read)
        return format_html('<strong class="c-strong">{}</strong><br>{}', title, body)

    @display(description=gettext_lazy("languages"))
    def languages(self, obj: Template) -> str:
        tags = sorted(obj.locales)
        text = ", ".join([_("main text"), *tags[:LANGUAGES_SHOWN]])
        more = len(tags) - LANGUAGES_SHOWN
        return _("%(some)s and %(more)s more") % {"some": text, "more": more} if more > 0 else text

    @display(description=gettext_lazy("used by"), ordering="user_count")
    def used(self, obj: Any) -> str:
        campaigns = obj.main_count + obj.variant_count
        return used_by.in_words(campaigns, automations=obj.automation_count)

    def used_by(self, obj: Template) -> list[str]:
        campaign_text, automation_text = (
            _("the campaign “%(name)s”"),
            _("the automation “%(name)s”"),
        )
        return [
            *(campaign_text % {"name": campaign} for campaign in obj.campaigns.all()[:10]),
            *(
                campaign_text % {"name": variant.campaign}
                for variant in obj.variants.select_related("campaign")[:10]
            ),
            *(automation_text % {"name": row} for row in obj.automations.all()[:10]),
        ]

    actions_detail = ("duplicate",)

    def has_duplicate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_add_permission(request)  # no row, as an action's check requires

    @copying(
        gettext_lazy("Duplicate this template?"),
        gettext_lazy("The copy has the last saved texts; campaigns keep using this one."),
    )
    def duplicate(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        copy = Template.objects.get(pk=object_id).duplicate()
        revision.keep(copy, by=actor(request))
        return copied(self, request, copy, object_id)

    # --- The form ------------------------------------------------------------------------------

    def as_posted(self, row: Template) -> dict[str, str]:
        return as_posted(row)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        context["platforms"] = [
            (label, PLATFORMS[name].items()) for name, label in Device.Platform.choices
        ]
        context["may_test"] = self.opens(request, "test")
        return super().render_change_form(request, context, *args, **kw)

    # --- Beside the form -----------------------------------------------------------------------

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """The form's texts for one person. It refreshes as the user types, and saves nothing."""
        posted, project = request.POST, named(request)
        if project is None:
            context: dict[str, Any] = {"no_project": True}
        else:
            context = self._preview(posted, project)
        return render(request, "admin/campaigns/template/preview.html", context)

    def variables_view(self, request: HttpRequest) -> HttpResponse:
        """The variables that a text may use, and how many people have each."""
        project = named(request)
        context: dict[str, Any] = {"project": project}
        if project is not None:
            external_id = request.POST.get("preview_person", "").strip()
            person = preview.pick_person(project, external_id)
            context |= {
                "person": person,
                "known": insertable.known(project, person),
                "snippets": insertable.snippets(project, person),
            }
        return render(request, "admin/campaigns/template/variables.html", context)

    def hosts_view(self, request: HttpRequest, id: int) -> HttpResponse:
        """A part of the project's page, which must not depend on templates."""
        project = get_object_or_404(Project, pk=id)
        used = pictures.hosts(Template.objects.filter(project=project)[:MAX_TEMPLATES])
        hosts = project.image_hosts
        refused = sorted(host for host in used if not images.allowed(f"https://{host}/", hosts))
        context = {"refused": refused}
        return render(request, "admin/campaigns/template/hosts.html", context)

    def test_view(self, request: HttpRequest) -> HttpResponse:
        """Test send of the form's texts. Saves nothing."""
        project = named(request)
        mine = self.get_queryset(request)
        saved = mine.filter(pk=row_id(request.GET.get("template")) or 0).first()
        name = request.POST.get("name", "").strip()[:100]
        return test_sends.dialog(
            request,
            project,
            lambda variant: _as_it_stands(request.POST, project, name),
            about=saved or Subject("template", None, name),
            languages=sorted(saved.locales) if saved else [],
            includes="#template_form, #preview-card",
        )

    def _preview(self, posted: Any, project: Project) -> dict[str, Any]:
        template, problems = unsaved(posted, project)
        # Problems are listed, and the rest is still shown.
        readable_template = readable(template) if problems else template
        content = (readable_template or template).frozen()
        external_id = posted.get("preview_person", "").strip()
        person = (
            preview.pick_person(project, external_id)
            if external_id
            else preview.reader(project, content)
        )
        locale = posted.get("preview_locale", "")
        languages = languages_of(content) if readable_template else []
        locale = locale if locale in languages else ""
        cards = preview.cards(content, person, locale=locale) if readable_template else []
        asked_platform = posted.get("preview_platform", "")
        platform = asked_platform if asked_platform in PLATFORMS else "android"
        return {
            "problems": locate_problems(problems, template.written()),
            "cards": cards,
            "platforms": Device.Platform.choices,
            "card": next((card for card in cards if card.platform == platform), None),
            "variables": preview.variables(content, project) if readable_template else [],
            "single_braces": preview.single_braces(content) if readable_template else [],
            "person": person,
            "unknown_person": external_id if external_id and person is None else "",
            "locale": locale,
            "platform": platform,
            "look": "dark" if posted.get("preview_look") == "dark" else "light",
            "looks": [("light", _("Light")), ("dark", _("Dark"))],
            "locales": sorted(languages),
            "project": project,
            "project_name": project.name,
        }


def _as_it_stands(posted: Any, project: Any, name: str) -> TextToTest:
    template, problems = unsaved(posted, project)
    if problems:
        raise ValidationError([error for found in problems.values() for error in found])
    template.name = name
    return text_of_template(template)
