"""Snippet form: a name, a text, and the text in other languages."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.translation import gettext_lazy as _

from campaigns.admin.template.form import COUNTED, TextForm
from campaigns.admin.template.widgets import Languages, Line
from campaigns.texts.snippets.snippet import Snippet
from notifications.admin.ui.json_field import JSONText
from notifications.admin.ui.widgets import LineInput, PlainArea


class SnippetLanguages(Languages):
    texts: ClassVar[tuple[Line, ...]] = (Line("text", _("Text"), lines=4),)


class SnippetForm(TextForm):
    locales = JSONText(label=_("Languages"), required=False, widget=SnippetLanguages(rows=8))

    class Meta:
        model = Snippet
        fields = ["project", "name", "text", "locales"]
        widgets = {
            "name": LineInput(placeholder="footer", autocapitalize="none", spellcheck="false"),
            "text": PlainArea(rows=4, **COUNTED),
        }
        labels = {"text": _("Text")}
        help_texts = {
            "name": _("Templates mention it by its name: {{ snippet.footer }}"),
            "text": _("Words, and values such as {{ first_name | default: 'there' }}. At most "
                      "1,000 characters."),
        }  # fmt: skip
        error_messages = {
            NON_FIELD_ERRORS: {"unique_together": _("Another snippet has this name already.")}
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
