"""One person's answers: shown on their page with the history, and changed there by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.db.models import Max
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from unfold.widgets import UnfoldBooleanWidget

from notifications.admin.furniture.dialogs import Dialog
from notifications.people.consent.category import Category
from notifications.people.consent.change import SOURCES, ConsentChange
from notifications.people.consent.saying import EVERYTHING, Word, say
from notifications.people.consent.suppression import Suppression
from notifications.people.contact import Contact
from notifications.staff.actors import who
from notifications.values.moments import in_zone

SHOWN_CHANGES = 50
MARKETING = Category.Kind.MARKETING


@dataclass(frozen=True)
class Answer:
    """A person's answer about a category, or about all marketing, and since when."""

    name: str
    wanted: bool
    since: str  # empty: they never answered
    told_by: str
    asked: bool = True  # False: this kind goes to everybody
    off: bool = False  # they accept it, but unsubscribed from all marketing


@dataclass(frozen=True)
class Told:
    """A line of the history."""

    name: str
    wanted: bool
    at: str
    told_by: str


def everything() -> str:
    return _("All marketing")


def picture(contact: Contact) -> dict[str, Any]:
    """For the person's page."""
    categories = list(Category.objects.filter(project=contact.project_id))
    names = {EVERYTHING: everything(), **{one.slug: one.name for one in categories}}
    changes = ConsentChange.objects.filter(contact=contact)
    newest = changes.order_by("category").values("category").annotate(last=Max("pk"))
    last = changes.in_bulk([row["last"] for row in newest])
    said = {change.category: change for change in last.values()}
    zone = contact.project.timezone
    history = list(changes.order_by("-pk")[: SHOWN_CHANGES + 1])
    suppressed = Suppression.objects.filter(
        project=contact.project_id, external_id=contact.external_id
    )
    return {
        "answers": [
            _answer(names[EVERYTHING], contact.subscribed, said.get(EVERYTHING), zone),
            *(_of(category, contact, said.get(category.slug), zone) for category in categories),
        ],
        "history": [
            Told(names.get(one.category, one.category), one.wanted, in_zone(one.at, zone), by(one))
            for one in history[:SHOWN_CHANGES]
        ],
        "more": len(history) > SHOWN_CHANGES,
        "suppressed": suppressed.first(),
    }


def _of(category: Category, contact: Contact, last: ConsentChange | None, zone: str) -> Answer:
    wanted = contact.preferences.get(category.slug, {}).get("wanted", True)
    asked = category.kind == MARKETING
    answer = _answer(category.name, wanted, last, zone, asked=asked)
    return replace(answer, off=asked and wanted and not contact.subscribed)


def _answer(
    name: str, wanted: bool, last: ConsentChange | None, zone: str, *, asked: bool = True
) -> Answer:
    since = in_zone(last.at, zone) if last else ""
    return Answer(name, wanted, since, by(last) if last else "", asked)


def by(change: ConsentChange) -> str:
    """“ada (Page)”."""
    return f"{who(change.by)} ({SOURCES.get(change.source, change.source)})"


class AnswersDialog(Dialog):
    """A person's answers, entered by a colleague whom they told."""

    # What the dialog showed, so that an unchanged tick does not overrule a newer answer.
    shown = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, (label, _category, wanted) in self.asked.items():
            self.fields[name] = forms.BooleanField(
                label=label, required=False, initial=wanted, widget=UnfoldBooleanWidget
            )
        ticked = [name for name, (_label, _category, wanted) in self.asked.items() if wanted]
        self.fields["shown"].initial = " ".join(ticked)

    @cached_property
    def contact(self) -> Contact:
        return Contact.objects.select_related("project").get(pk=self.object_id or 0)

    @cached_property
    def asked(self) -> dict[str, tuple[str, str, bool]]:
        """By field: its label, its category, and whether they want it. Only marketing can be
        declined."""
        contact = self.contact
        marketing = Category.objects.filter(project=contact.project_id, kind=MARKETING)
        found = {"everything": (everything(), EVERYTHING, contact.subscribed)}
        for one in marketing:
            wanted = contact.preferences.get(one.slug, {}).get("wanted", True)
            found[f"about_{one.pk}"] = (one.name, one.slug, wanted)
        return found

    def write(self, actor: str) -> int:
        """Write the ticks that differ from what was shown. Returns how many answers changed."""
        was = self.cleaned_data["shown"].split()
        words = [
            Word(self.contact.external_id, category, self.cleaned_data[name])
            for name, (_label, category, _wanted) in self.asked.items()
            if self.cleaned_data[name] != (name in was)
        ]
        return say(self.contact.project, words, source="page", by=actor, now=timezone.now())
