"""Template form: texts with variables, and JSON for what few templates need."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from campaigns.texts import revision
from campaigns.texts.content import TEXTS
from campaigns.texts.pages import concurrent_edit
from campaigns.texts.pages.concurrent_edit import TextMeanwhile
from campaigns.texts.pages.widgets import Buttons, Languages, Pairs, PlatformOptions
from campaigns.texts.template import Template
from campaigns.texts.writing import pictures
from notifications.admin.ui.json_field import JSONText
from notifications.admin.ui.unfolded import ModelForm
from notifications.admin.ui.widgets import LineInput, PlainArea

INSIDE_JSON = ("buttons", "data", "options", "locales")
LISTS = frozenset({"buttons"})  # those that are lists; the others are objects
COUNTED: dict[str, Any] = {"data-counted": True}  # for the counter beside a text


class Seen(forms.IntegerField):
    """The revision the page showed. It says nothing about the text, so it never “changed”."""

    widget = forms.HiddenInput

    def has_changed(self, initial: Any, data: Any) -> bool:
        return False


class TextForm(ModelForm):
    """A form for texts. It merges in what another user saved while this one was writing."""

    seen = Seen(label="", required=False)

    class Media:
        css = {"all": ["draft.css"]}
        js = ["template_json.js", "template_texts.js", "draft.js"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.meanwhile: TextMeanwhile | None = None
        if self.instance.pk:
            self.initial["seen"] = revision.newest_number(self.instance)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.instance.pk:
            self._merge_in_newer(cleaned)
        return cleaned

    def _merge_in_newer(self, cleaned: dict[str, Any]) -> None:
        """Merge in what another user saved meanwhile, save nothing, and let the writer look."""
        conflict = concurrent_edit.look(self.instance, cleaned.get("seen"), cleaned)
        if conflict is None:
            return
        self.meanwhile, merged = conflict
        data: Any = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
        data["seen"] = str(self.meanwhile.last.number)
        for name in {change.path[0] for change in self.meanwhile.taken}:
            data[name] = self.fields[name].prepare_value(merged.content[name])
        self.data = data
        self.add_error(
            None, gettext("Nothing is saved yet. See above what was saved in the meantime.")
        )


class TemplateForm(TextForm):
    buttons = JSONText(
        label=_("Buttons"),
        required=False,
        empty=list,
        widget=Buttons(rows=4),
        help_text=_("At most three. Browsers draw them. On Android your app does, from the data "
        "“carillon_buttons”; on iOS it registered its own, as a category (below)."),
    )  # fmt: skip
    data = JSONText(  # type: ignore[assignment]  # a field here, Form.data on the instance
        label=_("Data for the app"),
        required=False,
        widget=Pairs(rows=4),
        help_text=_("Texts the app gets beside the message, such as the screen to open. They may "
                    "hold variables."),
    )  # fmt: skip
    options = JSONText(
        label=_("Options per platform"),
        required=False,
        widget=PlatformOptions(rows=6),
        help_text=_("FCM and the phone decide what is left at “as usual”. Texts may hold "
        "variables. All options are listed below."),
    )  # fmt: skip
    locales = JSONText(label=_("Languages"), required=False, widget=Languages(rows=10))

    class Media:
        js = ["template_images.js"]

    class Meta:
        model = Template
        fields = [
            "project", "name", "title", "body", "image", "link", "buttons", "data", "options",
            "locales",
        ]  # fmt: skip
        widgets = {
            "title": LineInput(**COUNTED),
            "body": PlainArea(rows=4, **COUNTED),
            "image": LineInput(placeholder="https://…", **COUNTED),
            "link": LineInput(placeholder=_("https://… or myapp://…"), **COUNTED),
        }
        help_texts = {
            "title": "",
            "image": _("Uploaded here, or any https address; phones show it large."),
            "link": _("Opened on tap: https://… or your app's own scheme."),
        }
        error_messages = {
            NON_FIELD_ERRORS: {"unique_together": _("Another template has this name already.")}
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self._look_at_images(cleaned)
        return cleaned

    def _look_at_images(self, cleaned: dict[str, Any]) -> None:
        project = cleaned.get("project") or getattr(self.instance, "project", None)
        if project is not None:
            for name, problem in pictures.problems(cleaned, project, self.instance).items():
                self.add_error(name, problem)


def as_posted(template: Template) -> dict[str, str]:
    """The values that the template's form would post."""
    texts = {name: getattr(template, name) for name in TEXTS}
    json = {name: JSONText().prepare_value(getattr(template, name)) for name in INSIDE_JSON}
    return {**texts, **json}


def _json(name: str) -> JSONText:
    return JSONText(required=False, empty=list if name in LISTS else dict)


def unsaved(posted: Any, project: Any) -> tuple[Template, dict[str, list[forms.ValidationError]]]:
    """The template from the form's current values, and its problems by field."""
    problems: dict[str, list[forms.ValidationError]] = {}
    values: dict[str, Any] = {name: posted.get(name, "") for name in TEXTS}
    for name in INSIDE_JSON:
        try:
            values[name] = _json(name).clean(posted.get(name, ""))
        except forms.ValidationError as error:
            values[name] = _json(name).empty()
            problems[name] = error.error_list
    template = Template(project=project, **values)
    try:
        template.clean()
    except forms.ValidationError as error:
        problems = {**error.error_dict, **problems}
    return template, problems
