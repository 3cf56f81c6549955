"""The pages of a test send: its dialog, and its report as answers arrive.

Each page that shows a text opens the dialog with its own text, as it stands in the form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminSelectWidget

from campaigns.planning.campaign_variants import Wording
from campaigns.runs.variants.group import MAIN
from campaigns.test_sends import recipients
from campaigns.test_sends.create import Refused, TextToTest, create_test
from campaigns.test_sends.demo_phones import can_ring
from campaigns.test_sends.models import SentTest
from campaigns.test_sends.report import Report, build_report
from campaigns.test_sends.tasks import send_test
from notifications.admin.ui.current_project import filter_by_project
from notifications.admin.ui.dialogs import DRAWN, Dialog, gone
from notifications.admin.ui.page import Page, actor
from notifications.admin.ui.widgets import LineInput
from notifications.people.contact import LONGEST_ID, Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres import budget
from notifications.staff.subjects import Subject
from notifications.staff.team import Role, role_of
from notifications.task_queue import enqueue_on_commit
from notifications.values.languages import canonical, validate_locale

SUGGESTED = 10
TESTERS, PERSON, DEMO = "testers", "person", "demo"
PREFIX = "test"  # of the dialog's fields: an unsaved template's fields are sent along with them


class ExternalIdField(forms.CharField):
    """Suggests external ids as the user types."""

    def __init__(self, **options: Any) -> None:
        widget = LineInput(autocomplete="off", list="test-people")
        super().__init__(required=False, max_length=LONGEST_ID, widget=widget, **options)


class SendTestDialog(Dialog):
    template = "admin/campaigns/test_sends/about.html"
    variant = forms.TypedChoiceField(
        label=gettext_lazy("Which text"), coerce=int, widget=UnfoldAdminSelectWidget
    )
    to = forms.ChoiceField(label=gettext_lazy("To whom"), widget=UnfoldAdminRadioSelectWidget)
    person = ExternalIdField(
        label=gettext_lazy("External id of the person"),
        help_text=gettext_lazy("Only if it goes to one person."),
    )
    locale = forms.CharField(
        label=gettext_lazy("Language"),
        required=False,
        max_length=35,
        widget=LineInput(autocomplete="off", list="test-languages"),
        help_text=gettext_lazy("Empty: the language of whoever's values are used."),
    )
    values_of = ExternalIdField(
        label=gettext_lazy("Whose values (external id)"),
        help_text=gettext_lazy("Empty: each of them reads their own values."),
    )

    def __init__(
        self,
        request: Any,
        project: Project,
        *,
        languages: Sequence[str],
        variants: Sequence[Wording] = (),
        includes: str = "",
        **kwargs: Any,
    ) -> None:
        self.project, self.languages, self.includes = project, languages, includes
        super().__init__(request, None, prefix=PREFIX, **kwargs)
        cast(forms.ChoiceField, self.fields["to"]).choices = self._choices()
        if len(variants) > 1:
            choices = [
                (wording.number, f"{wording.words}: {wording.template}") for wording in variants
            ]
            cast(forms.ChoiceField, self.fields["variant"]).choices = choices
        else:
            del self.fields["variant"]
        self.initial["to"] = TESTERS if self.testers else PERSON
        for name in ("person", "values_of"):
            self.fields[name].widget.attrs |= {
                "hx-get": reverse("admin:test_people"),
                "hx-trigger": "input changed delay:250ms",
                "hx-target": "#test-people",
                "hx-swap": "innerHTML",
                # Overrides what it would inherit from the dialog: the whole form.
                "hx-select": "unset",
                "hx-include": "this",
            }

    @cached_property
    def testers(self) -> int:
        return recipients.testers(self.project).count()

    @property
    def has_demo_phones(self) -> bool:
        return can_ring(self.project)

    @cached_property
    def demo_is_on(self) -> bool:
        return self.has_demo_phones and recipients.demo_phone_owners(self.project).exists()

    @property
    def _wants_demo_phones(self) -> bool:
        """Without testers, or when they are chosen: then the dialog says how to switch one on."""
        return self.has_demo_phones and (not self.testers or self["to"].value() == DEMO)

    def context(self) -> dict[str, Any]:
        role = role_of(self.request.user)
        return {
            "testers": self.testers,
            "languages": self.languages,
            "demo_is_off": self._wants_demo_phones and not self.demo_is_on,
            "may_open_demo": role is not None and role.covers(Role.SENDER),
        }

    def _choices(self) -> list[tuple[str, str]]:
        choices = [(TESTERS, self._describe_testers()), (PERSON, _("One person"))]
        if self.has_demo_phones:
            choices.append((DEMO, _("The demo phones")))
        return choices

    def _describe_testers(self) -> str:
        if not self.testers:
            return _("The testers of this project: nobody yet")
        people = ngettext("%(count)s person", "%(count)s people", self.testers)
        people %= {"count": f"{self.testers:,}"}
        if self.testers > recipients.MOST_DEVICES:  # nor does a test go to so many
            return _("The testers of this project: %(people)s") % {"people": people}
        mine = Device.objects.filter(contact__in=recipients.testers(self.project), retired_at=None)
        phones = mine.count()
        devices = ngettext("%(count)s device", "%(count)s devices", phones)
        counts = {"people": people, "devices": devices % {"count": f"{phones:,}"}}
        return _("The testers of this project: %(people)s, %(devices)s") % counts

    def clean_locale(self) -> str:
        typed: str = self.cleaned_data["locale"].strip()
        if not typed:
            return ""
        validate_locale(typed)
        return canonical(typed)

    def clean_values_of(self) -> Contact | None:
        typed = self.cleaned_data["values_of"]
        return self._find(typed) if typed else None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        recipient_kind = cleaned.get("to")
        if recipient_kind == PERSON and "person" in cleaned:
            self._find_person(cleaned)
        elif recipient_kind == TESTERS:
            cleaned["people"] = recipients.first_testers(self.project)
            if not cleaned["people"]:
                self.add_error("to", _("Nobody is a tester yet. Mark somebody first, see above."))
        elif recipient_kind == DEMO:
            cleaned["people"] = list(recipients.demo_phone_owners(self.project))
            if not cleaned["people"]:
                self.add_error("to", _("No demo phone is on: open their page and switch one on."))
        return cleaned

    def _find_person(self, cleaned: dict[str, Any]) -> None:
        try:
            if not cleaned["person"]:
                raise ValidationError(_("Write the external id of the person."))
            cleaned["people"] = [self._find(cleaned["person"])]
        except ValidationError as error:
            self.add_error("person", error)

    def _find(self, external_id: str) -> Contact:
        contact = recipients.find_contact(self.project, external_id.strip())
        if contact is None:
            message = _("No person “%(id)s” in this project.")
            raise ValidationError(message % {"id": external_id})
        return contact


class SentDialog(Dialog):
    """The report of a test, which is loaded again as answers arrive."""

    template = "admin/campaigns/test_sends/sent.html"

    def __init__(self, request: Any, report: Report) -> None:
        self.report = report
        super().__init__(request)

    @property
    def possible(self) -> bool:
        return False

    def context(self) -> dict[str, Any]:
        return {"report": self.report}


def urls(page: Page) -> list[URLPattern]:
    return page.guarded_paths(
        [
            ("test/people/", require_GET(people_view), "test_people"),
            ("test/<int:test_id>/", require_GET(report_view), "test_shown"),
        ]
    )


def dialog(
    request: HttpRequest,
    project: Project | None,
    text_of: Callable[[int], TextToTest],
    *,
    about: Model | Subject,
    **options: Any,
) -> HttpResponse:
    """Show the dialog on a GET, send the test on a POST. `text_of` returns the text of a variant,
    by its number, or raises ValidationError. `options` are the dialog's."""
    if project is None:
        return gone(request)
    if request.method != "POST":
        return _render(request, SendTestDialog(request, project, **options))
    form = SendTestDialog(request, project, data=request.POST, **options)
    if not form.is_valid():
        return _render(request, form)
    cleaned = form.cleaned_data
    try:
        text = text_of(cleaned.get("variant", MAIN))
        test = create_test(
            replace(text, reads_as=cleaned["values_of"], locale=cleaned["locale"]),
            cleaned["people"],
            about=about,
            by=actor(request),
            now=timezone.now(),
        )
    except Refused as error:
        form.add_error(None, str(error))
        return _render(request, form)
    except ValidationError as error:
        form.add_error(None, [_("Nothing was sent: the text is not in order."), *error.messages])
        return _render(request, form)
    enqueue_on_commit(send_test, test_id=test.pk)
    return _render(request, SentDialog(request, build_report(test)))


def _render(request: HttpRequest, form: Dialog) -> HttpResponse:
    texts = {"dialog": {"title": _("Send a test")}, "form_submit_text": _("Send the test")}
    return render(request, DRAWN, {"form": form, **texts})


def report_view(request: HttpRequest, test_id: int) -> HttpResponse:
    """The page loads it each second until every device has its answer."""
    test = get_object_or_404(filter_by_project(request, SentTest.objects.all()), pk=test_id)
    return render(request, "admin/campaigns/test_sends/sent.html", {"report": build_report(test)})


def people_view(request: HttpRequest) -> HttpResponse:
    """Suggest external ids that begin with what was typed."""
    typed = request.GET.get("test-person") or request.GET.get("test-values_of") or ""
    start = typed.strip()[:LONGEST_ID].replace("\x00", "")
    people = filter_by_project(request, Contact.objects.all()).filter(
        external_id__istartswith=start
    )
    ids: list[tuple[str]] = []
    with suppress(budget.TooSlow), budget.statement_timeout(seconds=0.5):
        if start:
            ids = list(people.order_by("-pk").values_list("external_id")[:SUGGESTED])
    return HttpResponse(format_html_join("", '<option value="{}">', ids))
