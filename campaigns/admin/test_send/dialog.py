"""The dialog of a test send: to whom, in which language, with whose values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminSelectWidget

from campaigns.planning.variants.variant import Wording
from campaigns.test_sends import asking, whom
from campaigns.test_sends.demo_phones import can_ring
from notifications.admin.furniture.dialogs import Dialog
from notifications.admin.furniture.widgets import LineInput
from notifications.people.contact import LONGEST_ID, Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.team import Role, role_of
from notifications.values.languages import canonical, validate_locale

TESTERS, PERSON, DEMO = "testers", "person", "demo"
PREFIX = (
    "test"  # of its fields: what is sent with them, an unsaved template's, has names of its own
)


@dataclass(frozen=True)
class Offered:
    """What the page it was opened from knows of what is sent."""

    languages: list[str]
    includes: str = ""  # what else of that page is sent with it
    texts: Sequence[Wording] = ()  # to choose one from, where there are several


class FoundPerson(forms.CharField):
    """An external id, with those suggested that begin so."""

    def __init__(self, **options: Any) -> None:
        widget = LineInput(autocomplete="off", list="test-people")
        super().__init__(required=False, max_length=LONGEST_ID, widget=widget, **options)


class SendTestDialog(Dialog):
    template = "admin/campaigns/test/about.html"
    variant = forms.TypedChoiceField(
        label=gettext_lazy("Which text"), coerce=int, widget=UnfoldAdminSelectWidget
    )
    to = forms.ChoiceField(label=gettext_lazy("To whom"), widget=UnfoldAdminRadioSelectWidget)
    person = FoundPerson(
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
    values_of = FoundPerson(
        label=gettext_lazy("Whose values (external id)"),
        help_text=gettext_lazy("Empty: each of them reads their own values."),
    )

    def __init__(self, request: Any, project: Project, offered: Offered, **kwargs: Any) -> None:
        self.project, self.offered = project, offered
        super().__init__(request, None, prefix=PREFIX, **kwargs)
        cast(forms.ChoiceField, self.fields["to"]).choices = self._choices()
        if len(offered.texts) > 1:
            each = [(one.number, f"{one.words}: {one.template}") for one in offered.texts]
            cast(forms.ChoiceField, self.fields["variant"]).choices = each
        else:
            del self.fields["variant"]
        self.initial["to"] = TESTERS if self.testers else PERSON
        for name in ("person", "values_of"):
            self.fields[name].widget.attrs |= {
                "hx-get": reverse("admin:test_people"),
                "hx-trigger": "input changed delay:250ms",
                "hx-target": "#test-people",
                "hx-swap": "innerHTML",
                # Not what the dialog around it has: the whole form, and a part of the answer.
                "hx-select": "unset",
                "hx-include": "this",
            }

    @cached_property
    def testers(self) -> int:
        return whom.testers(self.project).count()

    @property
    def has_demo_phones(self) -> bool:
        return can_ring(self.project)

    @cached_property
    def demo_is_on(self) -> bool:
        return self.has_demo_phones and whom.with_demo_phones(self.project).exists()

    @property
    def _asks_for_demo(self) -> bool:
        """Where there are testers, only who chose them is told how to switch one on."""
        return self.has_demo_phones and (not self.testers or self["to"].value() == DEMO)

    def context(self) -> dict[str, Any]:
        role = role_of(self.request.user)
        return {
            "testers": self.testers,
            "languages": self.offered.languages,
            "demo_is_off": self._asks_for_demo and not self.demo_is_on,
            "may_open_demo": role is not None and role.covers(Role.SENDER),
        }

    def _choices(self) -> list[tuple[str, str]]:
        found = [(TESTERS, self._testers_in_words()), (PERSON, _("One person"))]
        if self.has_demo_phones:
            found.append((DEMO, _("The demo phones")))
        return found

    def _testers_in_words(self) -> str:
        if not self.testers:
            return _("The testers of this project: nobody yet")
        people = ngettext("%(count)s person", "%(count)s people", self.testers)
        people %= {"count": f"{self.testers:,}"}
        if self.testers > asking.MOST_DEVICES:  # nor does a test go to so many
            return _("The testers of this project: %(people)s") % {"people": people}
        mine = Device.objects.filter(contact__in=whom.testers(self.project), retired_at=None)
        phones = mine.count()
        devices = ngettext("%(count)s device", "%(count)s devices", phones)
        said = {"people": people, "devices": devices % {"count": f"{phones:,}"}}
        return _("The testers of this project: %(people)s, %(devices)s") % said

    # --- What was asked ------------------------------------------------------------------------

    def clean_locale(self) -> str:
        typed: str = self.cleaned_data["locale"].strip()
        if not typed:
            return ""
        validate_locale(typed)
        return canonical(typed)

    def clean_values_of(self) -> Contact | None:
        typed = self.cleaned_data["values_of"]
        return self._known(typed) if typed else None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        to = cleaned.get("to")
        if to == PERSON and "person" in cleaned:
            self._find_the_person(cleaned)
        elif to == TESTERS:
            cleaned["people"] = whom.some_testers(self.project, asking.MOST_DEVICES)
            if not cleaned["people"]:
                self.add_error("to", _("Nobody is a tester yet. Mark somebody first, see above."))
        elif to == DEMO:
            cleaned["people"] = list(whom.with_demo_phones(self.project))
            if not cleaned["people"]:
                self.add_error("to", _("No demo phone is on: open their page and switch one on."))
        return cleaned

    def _find_the_person(self, cleaned: dict[str, Any]) -> None:
        try:
            if not cleaned["person"]:
                raise ValidationError(_("Write the external id of the person."))
            cleaned["people"] = [self._known(cleaned["person"])]
        except ValidationError as error:
            self.add_error("person", error)

    def _known(self, external_id: str) -> Contact:
        found = whom.person(self.project, external_id.strip()).first()
        if found is None:
            said = _("No person “%(id)s” in this project.")
            raise ValidationError(said % {"id": external_id})
        return found


class SentDialog(Dialog):
    """What came of it, as it arrives."""

    template = "admin/campaigns/test/sent.html"

    def __init__(self, request: Any, picture: Any) -> None:
        self.picture = picture
        super().__init__(request)

    @property
    def possible(self) -> bool:
        return False

    def context(self) -> dict[str, Any]:
        return {"picture": self.picture}
