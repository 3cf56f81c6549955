"""In-place creation: a text or an audience created inside the campaign's own form."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminRadioSelectWidget

from campaigns.audiences.audience import Audience
from campaigns.audiences.pages.audience_preview import problems
from campaigns.audiences.pages.form import AudienceForm
from campaigns.audiences.rules import everyone
from campaigns.planning.campaign import Campaign
from campaigns.texts.content import TEXTS
from campaigns.texts.pages.form import COUNTED
from campaigns.texts.template import Template
from campaigns.texts.writing import pictures
from notifications.admin.ui.unfolded import ModelAdmin, ModelForm
from notifications.admin.ui.widgets import LineInput, PlainArea
from notifications.people.project import Project
from notifications.postgres import row_lock

PICK, MAKE = "pick", "make"
LONGEST_NAME = 100


class InPlace(ModelForm):
    """Form fields that create a template or an audience, and the rows they create."""

    audience_from = forms.ChoiceField(
        label=gettext_lazy("The people"),
        required=False,
        initial=PICK,
        choices=[
            (PICK, gettext_lazy("An existing audience")),
            (MAKE, gettext_lazy("New rules")),
        ],
        widget=UnfoldAdminRadioSelectWidget,
    )
    template_from = forms.ChoiceField(
        label=gettext_lazy("The text"),
        required=False,
        initial=PICK,
        choices=[
            (PICK, gettext_lazy("An existing template")),
            (MAKE, gettext_lazy("A new text for this campaign")),
        ],
        widget=UnfoldAdminRadioSelectWidget,
    )
    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=500,
        required=False,
        widget=LineInput(**COUNTED),
        help_text=gettext_lazy("With a person's name in it: {{ first_name | default: 'there' }}"),
    )
    body = forms.CharField(
        label=gettext_lazy("Text"),
        max_length=4_000,
        required=False,
        widget=PlainArea(rows=4, **COUNTED),
    )
    image = forms.CharField(
        label=gettext_lazy("Image"),
        max_length=2_000,
        required=False,
        widget=LineInput(placeholder="https://…", **COUNTED),
        help_text=gettext_lazy("Uploaded here, or any https address; phones show it large."),
    )
    link = forms.CharField(
        label=gettext_lazy("Opened on tap"),
        max_length=2_000,
        required=False,
        widget=LineInput(placeholder=gettext_lazy("https://… or myapp://…"), **COUNTED),
    )

    rules = deepcopy(AudienceForm.base_fields["rules"])  # the same as on the audience's page

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.setdefault("rules", everyone())
        for name in ("audience", "template", "category"):
            field: Any = self.fields[name]
            field.required = False
            # Django's links beside it open windows; here rows are created in place.
            if hasattr(field.widget, "widget"):
                field.widget = field.widget.widget
                field.widget.choices = field.choices
        self.text = own_text(self.instance) if self.instance.pk else None
        if self.text is not None:
            if self.is_bound:
                row_lock.lock_and_reload(self.text)
            self.initial.update({name: getattr(self.text, name) for name in TEXTS})
            self.initial["template_from"] = MAKE
        self.built: Audience | None = None
        self.written: Template | None = None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        project = cleaned.get("project") or getattr(self.instance, "project", None)
        if project is not None:
            self._clean_audience(cleaned, project)
            self._clean_text(cleaned, project)
        return cleaned

    def _clean_audience(self, cleaned: dict[str, Any], project: Project) -> None:
        if cleaned.get("audience_from") != MAKE:
            self.errors.pop("rules", None)
            if cleaned.get("audience") is None and "audience" not in self.errors:
                self.add_error("audience", _("Choose an audience, or create new rules."))
            return
        self.errors.pop("audience", None)
        if "rules" in self.errors:
            return
        name = free_name(Audience, project, str(cleaned.get("name") or ""))
        self.built = Audience(project=project, name=name, rules=cleaned["rules"])
        try:
            self.built.clean()
        except ValidationError as error:
            self.add_error("rules", [str(problem) for problem in problems(error)])

    def _clean_text(self, cleaned: dict[str, Any], project: Project) -> None:
        written_here = cleaned.get("template_from") == MAKE
        if not written_here and cleaned.get("template") is not None:
            for name in TEXTS:
                self.errors.pop(name, None)
            return
        self.errors.pop("template", None)
        if not written_here and self.instance.pk:
            self.add_error("template", _("Choose a template, or write the text here."))
            return
        # A draft may have no text yet; the launch asks for it.
        name = free_name(Template, project, str(cleaned.get("name") or ""))
        self.written = self.text or Template(project=project)
        if self.text is None or cleaned.get("name") != self.initial.get("name"):
            self.written.name = name
        texts = {name: cleaned.get(name, "") for name in TEXTS}
        for field, problem in pictures.problems(texts, project, self.written).items():
            self.add_error(field, problem)
        for name, text in texts.items():
            setattr(self.written, name, text)
        try:
            self.written.clean()
        except ValidationError as error:
            for name, messages in error.message_dict.items():
                self.add_error(name if name in TEXTS else None, messages)

    def _post_clean(self) -> None:
        """Skip the check of a choice that is created here: it has no row yet."""
        for name, created in (("audience", self.built), ("template", self.written)):
            if created is not None:
                self.cleaned_data.pop(name, None)
        super()._post_clean()  # type: ignore[misc]

    def save_what_was_made(self, request: HttpRequest, site: Any) -> None:
        """Save created rows before the campaign, through their own pages, which audit them."""
        for created in (self.built, self.written):
            if created is None or not (created._state.adding or self._text_changed):
                continue
            page: ModelAdmin = site.get_model_admin(type(created))
            changed = ["rules"] if created is self.built else list(TEXTS)
            adding = created._state.adding
            # The page reads from its form what changed, and for an audience the pasted people.
            stands_in: Any = SimpleNamespace(changed_data=changed, pasted=[], cleaned_data={})
            page.save_model(request, created, stands_in, change=not adding)
        for name, created in (("audience", self.built), ("template", self.written)):
            if created is not None:
                setattr(self.instance, name, created)

    @property
    def _text_changed(self) -> bool:
        return any(name in self.changed_data for name in ("name", *TEXTS))


def own_text(campaign: Campaign) -> Template | None:
    """The template, if it is only for this campaign and has no more than this form can edit."""
    template = campaign.template
    used_elsewhere = (
        template.campaigns.exclude(pk=campaign.pk).exists() or template.variants.exists()
    )
    more = template.locales or template.data or template.options
    named = template.name.startswith(campaign.name[: LONGEST_NAME - 5])
    return None if used_elsewhere or more or not named else template


def free_name(model: type[Model], project: Project, name: str) -> str:
    """The campaign's name, numbered when another row has it."""
    names = set(
        model._default_manager.filter(project=project, name__startswith=name[:90]).values_list(
            "name", flat=True
        )
    )
    candidates = [name[:LONGEST_NAME], *(f"{name[:94]} {n}" for n in range(2, len(names) + 3))]
    return next(candidate for candidate in candidates if candidate and candidate not in names)
