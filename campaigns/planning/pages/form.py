"""Campaign form: who, what, when and how fast. Text and audience may be created in place."""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminFileFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextareaWidget,
)

from campaigns.planning.campaign import MAX_EVERY, MAX_FIRST, Campaign
from campaigns.planning.pages import concurrent_edits, in_place
from campaigns.planning.pages import variant_fields as variants
from campaigns.planning.pages.category import KINDS
from campaigns.planning.repeats import cron, days_off, weekdays
from campaigns.runs.policy import NEVER, SETTINGS, TIMES_OF, WITH_REPEAT
from campaigns.texts.pages.edit_conflicts import OtherEdits
from notifications.admin.ui.duration_field import DurationText
from notifications.admin.ui.wall_clock import WallClock
from notifications.admin.ui.widgets import LineInput
from notifications.people.project import Project
from notifications.postgres import row_lock
from notifications.values.moments import NoSuchTime, comes_twice, on_the_clock
from notifications.values.zones import known_zones

WORDS = {setting.field: setting.words for setting in SETTINGS}
HINTS = {setting.field: setting.hint for setting in SETTINGS}
YOUNGER_THAN_TABS = ("precedence", "no_winner")  # a page opened before an upgrade lacks these


def _form_field(name: str, field: Any) -> Any:
    """The form field for a setting: durations as text, a few choices as radio buttons."""
    column: Any = Campaign._meta.get_field(name)
    if name.endswith("_seconds"):
        bounds = {validator.code: validator.limit_value for validator in column.validators}
        return DurationText(
            label=field.label,
            help_text=field.help_text,
            initial=field.initial,
            required=field.required,
            least=bounds["min_value"],
            most=bounds["max_value"],
        )
    if column.choices and not column.blank:
        field.widget = UnfoldAdminRadioSelectWidget(choices=column.choices)
    return field


def _name(name: str, *, example: str, **more: Any) -> forms.CharField:
    """A field for an event or property name. campaign.css uses its placeholder to hide others."""
    widget = LineInput(placeholder=example, autocomplete="off", spellcheck="false", **more)
    return forms.CharField(
        label=WORDS[name], help_text=HINTS[name], max_length=64, required=False, widget=widget
    )


def _tell_the_kinds(field: Any) -> None:
    """Add to the category field what each kind of category means."""
    field.empty_label = _("No category: goes to everyone who is subscribed")
    field.label_from_instance = lambda category: f"{category} ({category.get_kind_display()})"
    kinds = format_html_join(
        "", "<br>{}: {}", ((category.label, meaning) for category, meaning in KINDS.items())
    )
    field.help_text = format_html("{}{}", field.help_text, kinds)


def holidays_file() -> str:
    """The input for a calendar file. It belongs to no form: only its days are saved."""
    attrs = {
        "id": "id_holidays",
        "accept": ".ics,text/calendar",
        "form": "",
        "hx-post": reverse("admin:campaign_holidays"),
        "hx-encoding": "multipart/form-data",
        "hx-include": "#holidays",
        "hx-target": "#holidays",
        "hx-swap": "outerHTML",
        "hx-disabled-elt": "[name=_go]",  # a save meanwhile would lack its days
    }
    # Unfold's own widget: its script expects the widget's parts beside every file input.
    return str(UnfoldAdminFileFieldWidget(attrs).render("holidays", None))


def days_off_again(written: str) -> str:
    """The “days off” field as HTML, to replace the one on the page."""
    attrs = {
        "id": "id_days_off",
        "aria-describedby": "id_days_off_helptext",
        "hx-swap-oob": "true",
    }
    field = CampaignForm.base_fields["days_off"]
    return str(field.widget.render("days_off", written, attrs))


class Weekdays(forms.MultipleChoiceField):
    """A checkbox for each weekday; the campaign stores them as one text."""

    def prepare_value(self, value: Any) -> list[str]:
        chosen = value.split(",") if isinstance(value, str) else value or []
        return [name for name in chosen if name]

    def clean(self, value: Any) -> str:
        return ",".join(super().clean(value))


class CampaignForm(variants.VariantFormMixin):
    at = WallClock(
        label=gettext_lazy("Local time"),
        required=False,
        help_text=HINTS["at"],
        error_messages={"invalid": gettext_lazy("Choose a date and a time.")},
    )
    every = forms.IntegerField(
        label=WORDS["every"],
        help_text=HINTS["every"],
        required=False,
        min_value=1,
        max_value=MAX_EVERY,
        initial=1,
        widget=LineInput(inputmode="numeric", autocomplete="off"),
    )
    cron = forms.CharField(
        label=WORDS["cron"],
        help_text=HINTS["cron"],
        required=False,
        max_length=cron.LONGEST,
        widget=LineInput(placeholder="0 9 * * mon", autocomplete="off", spellcheck="false"),
    )
    weekdays = Weekdays(
        label=WORDS["weekdays"],
        help_text=HINTS["weekdays"],
        required=False,
        choices=weekdays.CHOICES,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    days_off = forms.CharField(
        label=WORDS["days_off"],
        help_text=HINTS["days_off"],
        required=False,
        max_length=days_off.LONGEST,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "spellcheck": "false"}),
    )
    until = WallClock(
        label=WORDS["until"],
        required=False,
        help_text=HINTS["until"],
        error_messages={"invalid": gettext_lazy("Choose a date and a time, or none.")},
    )
    # By the placeholder, campaign.css hides other fields while this one is empty.
    first_percent = forms.IntegerField(
        label=WORDS["first_percent"],
        help_text=HINTS["first_percent"],
        required=False,
        min_value=1,
        max_value=MAX_FIRST,
        widget=LineInput(inputmode="numeric", placeholder="1", autocomplete="off"),
    )
    goal_event = _name("goal_event", example="bought", list="event-names")
    goal_value = _name("goal_value", example="price")
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    holidays_file = staticmethod(holidays_file)

    class Meta:
        model = Campaign
        fields = ["project", "name", "audience", "template", variants.WEIGHT, *WORDS]
        labels = {
            "audience": gettext_lazy("Audience"),
            "template": gettext_lazy("Template"),
            **{name: capfirst(words) for name, words in WORDS.items()},
        }
        help_texts = {
            "name": gettext_lazy("Only you and your colleagues see it."),
            **HINTS,
        }

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        if data is not None:
            row_lock.lock_and_reload(kwargs.get("instance"))
        super().__init__(data, *args, **kwargs)
        for name in WORDS:
            self.fields[name] = _form_field(name, self.fields[name])
        for name in YOUNGER_THAN_TABS:
            self.fields[name].required = False
        if self.instance.pk:
            self.initial["timezone"] = self.instance.zone
        zone = ZoneInfo(self.instance.timezone)
        for name in ("at", "until"):
            if moment := getattr(self.instance, name):
                self.initial[name] = moment.astimezone(zone).replace(tzinfo=None)
        self.initial["days_off"] = days_off.in_lines(days_off.days_off_of(self.instance))
        self._offer_the_projects_own()
        self.meanwhile: OtherEdits | None = None
        if self.instance.pk:
            self.initial["seen"] = concurrent_edits.token(self)

    def _offer_the_projects_own(self) -> None:
        project_field = self.fields.get("project")  # the chosen project, which the page put there
        project_id = self.instance.project_id or (project_field.initial if project_field else None)
        if project_id and not self.instance.pk:
            self.initial.setdefault("timezone", Project.objects.get(pk=project_id).timezone)
        variants.offer(self, project_id)
        unknown = {
            "audience": _("There is no such audience in this project."),
            "template": _("There is no such template in this project."),
            "category": _("There is no such category in this project."),
        }
        for name in unknown:
            field = self.fields.get(name)
            if not isinstance(field, forms.ModelChoiceField) or field.queryset is None:
                continue
            field.queryset = field.queryset.filter(project=project_id)
            field.error_messages["invalid_choice"] = unknown[name]
            if name == "category":
                _tell_the_kinds(field)
            elif not self.instance.pk and not field.queryset.exists():
                self.initial.setdefault(f"{name}_from", in_place.MAKE)  # there is none to pick

    def full_clean(self) -> None:
        """First merge in what a colleague saved meanwhile, then validate."""
        if self.is_bound and self.instance.pk and self.data.get("seen"):
            self.data, self.meanwhile = concurrent_edits.brought_in(self)
        super().full_clean()

    def clean_every(self) -> int:
        return self.cleaned_data["every"] or 1

    def clean_precedence(self) -> str:
        """Keep the stored value if the tab was opened before this field existed."""
        chosen: str = self.cleaned_data["precedence"]
        return chosen or self.instance.precedence

    def clean_no_winner(self) -> str:
        chosen: str = self.cleaned_data["no_winner"]
        return chosen or self.instance.no_winner

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.instance.holiday_names = {}  # the field alone defines the names
        self.twice = False
        self._read_the_clock(cleaned)
        self._leave_out_what_is_hidden(cleaned)
        variants.clean(self, cleaned)
        if self.meanwhile:
            self.add_error(None, concurrent_edits.describe_edits(self, self.meanwhile))
        return cleaned

    def _leave_out_what_is_hidden(self, cleaned: dict[str, Any]) -> None:
        """Drop errors of hidden fields, and keep their values: they must not refuse the form."""
        for setting in SETTINGS:
            if setting.of and not (cleaned.get(setting.of) or self.errors.get(setting.of)):
                self.errors.pop(setting.field, None)
                cleaned[setting.field] = self._hidden_value(setting.field)

    def _hidden_value(self, name: str) -> Any:
        """What a hidden field keeps: its stored value, or nothing if the column may be blank."""
        column: Any = Campaign._meta.get_field(name)
        return "" if column.blank else getattr(self.instance, name)

    def _read_the_clock(self, cleaned: dict[str, Any]) -> None:
        visible = TIMES_OF.get(str(cleaned.get("schedule_kind")), NEVER)
        # Hidden fields must not refuse the visible form.
        for name in NEVER.keys() - visible:
            self.errors.pop(name, None)
            cleaned[name] = NEVER[name]
        repeat_fields = WITH_REPEAT.get(str(cleaned.get("repeat")), WITH_REPEAT["daily"])
        for name in {*chain.from_iterable(WITH_REPEAT.values())} - {*repeat_fields}:
            self.errors.pop(name, None)
            cleaned[name] = NEVER[name]
        if cleaned.get("schedule_kind") == Campaign.Schedule.NOW:
            self._take_the_projects_zone(cleaned)
        zone = str(cleaned.get("timezone"))
        if zone not in known_zones():  # refused by its own field
            return
        for name in ("at", "until"):
            if wall := cleaned.get(name):
                try:
                    cleaned[name] = self._untouched(name, wall, zone) or on_the_clock(wall, zone)
                    self.twice |= name == "at" and comes_twice(wall, zone)
                except NoSuchTime as error:
                    self.add_error(name, str(error))

    def _take_the_projects_zone(self, cleaned: dict[str, Any]) -> None:
        """Use the project's zone: one chosen for an unused time would still show all others."""
        project = cleaned.get("project") or getattr(self.instance, "project", None)
        if project is not None:
            self.errors.pop("timezone", None)
            cleaned["timezone"] = project.timezone

    def _untouched(self, name: str, wall: datetime, zone: str) -> datetime | None:
        """The stored time to the second, if the user did not change it: the page shows minutes."""
        stored: datetime | None = getattr(self.instance, name)
        if stored is None or zone != self.instance.timezone:
            return None
        stored_wall = stored.astimezone(ZoneInfo(zone)).replace(
            tzinfo=None, second=0, microsecond=0
        )
        return stored if wall == stored_wall else None
