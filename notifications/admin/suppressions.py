"""The suppression list: people who get no messages. Many can be added at once; they are removed one
by one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from notifications.admin.ui.page import Page, actor
from notifications.admin.ui.unfolded import ModelForm, display
from notifications.admin.ui.widgets import PlainArea
from notifications.people.consent.suppression import Suppression, suppress
from notifications.people.contact import Contact
from notifications.staff import audit
from notifications.staff.actors import who
from notifications.staff.subjects import Subject
from notifications.values.moments import in_zone
from notifications.values.text import unstorable

MAX_PASTED = 10_000
LONGEST_ID = Contact._meta.get_field("external_id").max_length or 0


class SuppressForm(ModelForm):
    """The people to suppress, one id per line."""

    people = forms.CharField(
        label=gettext_lazy("External ids"),
        widget=PlainArea(rows=10),
        help_text=gettext_lazy(
            "One per line, 10,000 at most. They need not exist in this project yet."
        ),
    )

    class Meta:
        model = Suppression
        fields = ["project", "reason"]
        help_texts = {"reason": gettext_lazy("For your colleagues, such as “complaint”.")}

    def clean_people(self) -> list[str]:
        lines = self.cleaned_data["people"].splitlines()
        ids = [*dict.fromkeys(line.strip() for line in lines if line.strip())]
        if len(ids) > MAX_PASTED:
            text = _("At most %(most)s ids; there are %(count)s.")
            counts = {"most": f"{MAX_PASTED:,}", "count": f"{len(ids):,}"}
            raise ValidationError(text % counts)
        for number, line in enumerate(lines, start=1):
            if why := _find_problem(line.strip()):
                text = _("Line %(number)s: %(why)s")
                raise ValidationError(text % {"number": f"{number:,}", "why": why})
        return ids


def _find_problem(text: str) -> str:
    if len(text) > LONGEST_ID:
        message = _("an id has at most %(most)s characters; this one has %(count)s.")
        return message % {"most": LONGEST_ID, "count": f"{len(text):,}"}
    if problem := unstorable(text):
        return _("It %(problem)s.") % {"problem": problem}
    return ""


@admin.register(Suppression)
class SuppressionPage(Page):
    list_display = ["external_id", "since", "told_by", "reason"]
    search_fields = ["^external_id"]
    search_help_text = gettext_lazy("How the external id starts")
    endless = True
    sortable_by = ()
    list_select_related = ["project"]
    shown_only = True
    goes_along = gettext_lazy("This person can get messages again, if they are subscribed.")
    empty_text = gettext_lazy(
        "Nobody is suppressed. People listed here get no messages, whatever the rules and "
        "the category, even if they are erased and imported again."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Suppression]:
        return super().get_queryset(request).select_related("project")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        if obj is None:
            return ["project", "people", "reason"]
        return ["external_id", "since", "told_by", "reason"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj) if obj else []

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        kwargs["form"] = ModelForm if obj else SuppressForm  # entries cannot be edited
        return super().get_form(request, obj, change, **kwargs)

    @display(description=gettext_lazy("since"))
    def since(self, obj: Suppression) -> str:
        return in_zone(obj.at, obj.project.timezone)

    @display(description=gettext_lazy("added by"))
    def told_by(self, obj: Suppression) -> str:
        return who(obj.by)

    # --- Adding many ---------------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:  # nothing on its page can be saved
            return
        ids, by = form.cleaned_data["people"], actor(request)
        added = suppress(obj.project, ids, reason=obj.reason, by=by, now=timezone.now())
        obj.pk = Suppression.objects.get(project=obj.project, external_id=ids[0]).pk
        if added:
            every = Subject("suppression")
            audit.record(by, "suppressed", every, project=obj.project, added=added)
        _report_added(request, added, known=len(ids) - added)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Log nobody by name: the audit trail keeps how many were added."""

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Log nobody by name: the audit trail keeps the deletion."""

    def response_add(self, request: HttpRequest, obj: Any, *_args: Any, **_kw: Any) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:notifications_suppression_changelist"))


def _report_added(request: HttpRequest, added: int, known: int) -> None:
    text = ngettext(
        "%(count)s person gets nothing from now on.",
        "%(count)s people get nothing from now on.",
        added,
    ) % {"count": f"{added:,}"}
    if known:
        stood = ngettext(
            "%(count)s was listed already.", "%(count)s were listed already.", known
        ) % {"count": f"{known:,}"}
        text = f"{text} {stood}"
    messages.success(request, text)
