"""The pages of snippets."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from campaigns.planning import snippet_users
from campaigns.texts import preview
from campaigns.texts.pages.form import COUNTED, TextForm
from campaigns.texts.pages.text_page import TextPage
from campaigns.texts.pages.widgets import Languages, Line
from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.writing.problems import locate_problems
from notifications.admin.ui.current_project import named
from notifications.admin.ui.json_field import JSONText
from notifications.admin.ui.unfolded import display
from notifications.admin.ui.widgets import LineInput, PlainArea
from notifications.people.project import Project

# --- The form -------------------------------------------------------------------------------------


class SnippetLanguages(Languages):
    texts: ClassVar[tuple[Line, ...]] = (Line("text", gettext_lazy("Text"), lines=4),)


class SnippetForm(TextForm):
    locales = JSONText(
        label=gettext_lazy("Languages"), required=False, widget=SnippetLanguages(rows=8)
    )

    class Meta:
        model = Snippet
        fields = ["project", "name", "text", "locales"]
        widgets = {
            "name": LineInput(placeholder="footer", autocapitalize="none", spellcheck="false"),
            "text": PlainArea(rows=4, **COUNTED),
        }
        labels = {"text": gettext_lazy("Text")}
        help_texts = {
            "name": gettext_lazy("Templates mention it by its name: {{ snippet.footer }}"),
            "text": gettext_lazy(
                "Words, and values such as {{ first_name | default: 'there' }}. At most "
                "1,000 characters."
            ),
        }
        error_messages = {
            NON_FIELD_ERRORS: {
                "unique_together": gettext_lazy("Another snippet has this name already.")
            }
        }


def as_posted(snippet: Snippet) -> dict[str, str]:
    return {"text": snippet.text, "locales": JSONText().prepare_value(snippet.locales)}


def unsaved(posted: Any, project: Any) -> tuple[Snippet, dict[str, list[forms.ValidationError]]]:
    """The snippet from the form's current values, and the problems of its texts by field."""
    problems: dict[str, list[forms.ValidationError]] = {}
    try:
        locales = JSONText(required=False).clean(posted.get("locales", ""))
    except forms.ValidationError as error:
        locales, problems = {}, {"locales": error.error_list}
    snippet = Snippet(project=project, text=posted.get("text", ""), locales=locales)
    return snippet, {**snippet.problems_of_texts(), **problems}


# --- Pages ----------------------------------------------------------------------------------------

LETTERS_SHOWN = 90


@admin.register(Snippet)
class SnippetPage(TextPage):
    form = SnippetForm
    change_form_template = "admin/campaigns/snippet/change_form.html"
    list_display = ["name", "reads", "languages", "used"]
    search_fields = ["name", "text"]
    search_help_text = gettext_lazy("Name or text")
    # The tabs are above the text that they switch.
    fields = ["project", "name", "locales", "text", "seen"]
    empty_text = gettext_lazy(
        "A snippet is a short text that many templates say: a brand's name, a footer, a legal line."
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(use_count=Count("uses"))

    def get_urls(self) -> list[Any]:
        preview_page = self.guarded(require_POST(self.preview_view))
        return [path("preview/", preview_page, name="snippet_preview"), *super().get_urls()]

    @display(description=gettext_lazy("text"))
    def reads(self, obj: Snippet) -> SafeString:
        text = Truncator(obj.text).chars(LETTERS_SHOWN)
        return format_html('{}<br><code class="c-code">{}</code>', text, obj.mention)

    @display(description=gettext_lazy("languages"))
    def languages(self, obj: Snippet) -> str:
        return ", ".join([_("main text"), *sorted(obj.locales)])

    @display(description=gettext_lazy("used by"), ordering="use_count")
    def used(self, obj: Any) -> str:
        count = obj.use_count
        text = ngettext("%(n)s template", "%(n)s templates", count)
        return text % {"n": f"{count:,}"} if count else "–"

    def used_by(self, obj: Snippet) -> list[str]:
        text = _("the template “%(name)s”")
        return [
            text % {"name": template.name}
            for template in snippet_users.find_users(obj).templates[:10]
        ]

    def as_posted(self, row: Snippet) -> dict[str, str]:
        return as_posted(row)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        if (snippet := context.get("original")) is not None:
            context["users"] = snippet_users.find_users(snippet)
        return super().render_change_form(request, context, *args, **kw)

    # --- Beside the form -----------------------------------------------------------------------

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """The form's text as one person reads it. Refreshes as the user types; saves nothing."""
        project = named(request)
        context: dict[str, Any] = {"no_project": True}
        if project is not None:
            context = self._preview(request.POST, project)
        return render(request, "admin/campaigns/snippet/preview.html", context)

    def _preview(self, posted: Any, project: Project) -> dict[str, Any]:
        snippet, problems = unsaved(posted, project)
        content = snippet.alone() if not problems else None
        external_id = posted.get("preview_person", "").strip()
        person = preview.pick_person(project, external_id)
        tags = sorted(snippet.locales) if isinstance(snippet.locales, dict) else []
        locale = posted.get("preview_locale", "")
        locale = locale if locale in tags else ""
        return {
            "problems": locate_problems(
                problems, {"text": snippet.text, "locales": snippet.locales}
            ),
            "card": preview.card(content, person, locale=locale) if content else None,
            "variables": preview.variables(content, project) if content else [],
            "person": person,
            "unknown_person": external_id if external_id and person is None else "",
            "locale": locale,
            "locales": tags,
            "project_name": project.name,
        }
