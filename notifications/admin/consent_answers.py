"""Consent answers of one person: shown on their page with the history, and edited there by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Max
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from unfold.widgets import UnfoldBooleanWidget

from notifications.admin.ui.dialogs import Dialog
from notifications.people.consent.category import Category
from notifications.people.consent.change import SOURCES, ConsentChange
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.consent.suppression import Suppression, suppression_of
from notifications.people.contact import Contact
from notifications.staff.actors import who
from notifications.values.moments import in_zone

SHOWN_CHANGES = 50
MARKETING = Category.Kind.MARKETING
ALL = "everything"  # the field of all marketing
OF_ALL = "marketing"


@dataclass(frozen=True)
class Answer:
    """A person's answer about a category, or about all marketing, and since when."""

    name: str
    wanted: bool
    since: str  # empty: they never answered
    told_by: str
    suppressed: bool
    needs_consent: bool = True  # False: this kind goes to everybody
    off: bool = False  # it is marketing, and they unsubscribed from all of that

    @property
    def received(self) -> bool:
        return not self.suppressed and (not self.needs_consent or (self.wanted and not self.off))

    @property
    def state(self) -> str:
        if self.suppressed:
            return _("Suppressed")
        if not self.needs_consent:
            return _("Always sent")
        if self.off:
            return _("Not received")
        return pgettext("wants it", "Yes") if self.wanted else pgettext("wants it", "No")

    @property
    def hint(self) -> str:
        """When and through whom they answered, or that an answer without effect is kept."""
        if not self.needs_consent:
            return "" if self.suppressed else _("This kind needs no consent.")
        params = {"at": self.since, "who": self.told_by}
        if not self.since:
            answer = _("They never answered.")
        elif not (self.off or self.suppressed):
            answer = _("Since %(at)s, by %(who)s") % params
        elif self.wanted:
            answer = _("Their yes is kept: since %(at)s, by %(who)s.") % params
        else:
            answer = _("Their no is kept: since %(at)s, by %(who)s.") % params
        off = self.off and not self.suppressed
        none = _("All marketing is off.")
        return f"{none} {answer}" if off else answer


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
    """The person's answers, their history and any suppression, for the person's page."""
    categories = list(Category.objects.filter(project=contact.project_id))
    names = {EVERYTHING: everything(), **{category.slug: category.name for category in categories}}
    changes = ConsentChange.objects.filter(contact=contact)
    newest = changes.order_by("category").values("category").annotate(last=Max("pk"))
    last = changes.in_bulk([row["last"] for row in newest])
    last_by_category = {change.category: change for change in last.values()}
    zone = contact.project.timezone
    history = list(changes.order_by("-pk")[: SHOWN_CHANGES + 1])
    suppressed = suppression_of(contact)
    return {
        "answers": [
            _answer(
                contact,
                everything(),
                contact.subscribed,
                last_by_category.get(EVERYTHING),
                suppressed,
            ),
            *(
                _answer_about(category, contact, last_by_category.get(category.slug), suppressed)
                for category in categories
            ),
        ],
        "history": [
            Told(
                names.get(change.category, change.category),
                change.wanted,
                in_zone(change.at, zone),
                by(change),
            )
            for change in history[:SHOWN_CHANGES]
        ],
        "more": len(history) > SHOWN_CHANGES,
        "suppressed": suppressed,
    }


def _answer_about(
    category: Category,
    contact: Contact,
    last: ConsentChange | None,
    suppression: Suppression | None,
) -> Answer:
    needs_consent = category.kind == MARKETING
    off = needs_consent and not contact.subscribed
    wanted = _wants(contact, category)
    return _answer(
        contact, category.name, wanted, last, suppression, needs_consent=needs_consent, off=off
    )


def _answer(
    contact: Contact, name: str, wanted: bool, last: ConsentChange | None,
    suppression: Suppression | None, **more: bool,
) -> Answer:  # fmt: skip
    since = in_zone(last.at, contact.project.timezone) if last else ""
    return Answer(name, wanted, since, by(last) if last else "", suppression is not None, **more)


def _wants(contact: Contact, category: Category) -> bool:
    """The person's answer for this category. Delivery also depends on “all marketing”."""
    return bool(contact.preferences.get(category.slug, {}).get("wanted", True))


def by(change: ConsentChange) -> str:
    """Who changed the answer, and from where: “ada (Page)”."""
    return f"{who(change.by)} ({SOURCES.get(change.source, change.source)})"


class AnswersDialog(Dialog):
    """A person's consent answers, entered on their behalf by a colleague.

    While all marketing is off, its categories are not received: they are shown without a tick and
    cannot be changed, and each answer is kept for when it is on again (static/carillon.js).
    """

    template = "admin/notifications/contact/suppressed.html"

    # What the dialog showed, so that an unchanged tick does not overrule a newer answer.
    shown = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        on = ALL in self.data if self.is_bound else self.contact.subscribed
        everything_on = UnfoldBooleanWidget(attrs={"data-all-of": OF_ALL})
        self.fields[ALL] = forms.BooleanField(
            label=everything(),
            required=False,
            initial=self.contact.subscribed,
            widget=everything_on,
            help_text=gettext_lazy(
                "When this is off, nothing below is received. What they answered there is kept."
            ),
        )
        for name, category in self.categories.items():
            is_wanted = _wants(self.contact, category)
            attrs = {"data-one-of": OF_ALL, **({} if on else {"disabled": True})}
            attrs |= {"data-kept": True} if is_wanted else {}
            self.fields[name] = forms.BooleanField(
                label=category.name,
                required=False,
                initial=is_wanted and on,
                widget=UnfoldBooleanWidget(attrs=attrs),
            )
        ticked = [
            name for name, category in self.categories.items() if _wants(self.contact, category)
        ]
        self.fields["shown"].initial = " ".join([*([ALL] if on else []), *ticked])

    @cached_property
    def contact(self) -> Contact:
        return Contact.objects.select_related("project").get(pk=self.object_id or 0)

    @cached_property
    def categories(self) -> dict[str, Category]:
        """Categories by form field. Only marketing can be declined."""
        marketing = Category.objects.filter(project=self.contact.project_id, kind=MARKETING)
        return {f"about_{category.pk}": category for category in marketing}

    def context(self) -> dict[str, Any]:
        return {"suppressed": suppression_of(self.contact)}

    def write(self, actor: str) -> int:
        """Write the ticks that differ from what was shown. Returns how many answers changed."""
        was = self.cleaned_data["shown"].split()
        slugs = {ALL: EVERYTHING}
        if self.cleaned_data[ALL]:
            slugs |= {name: category.slug for name, category in self.categories.items()}
        words = [
            ConsentAnswer(self.contact.external_id, slug, self.cleaned_data[name])
            for name, slug in slugs.items()
            if self.cleaned_data[name] != (name in was)
        ]
        return record_answers(
            self.contact.project, words, source="page", by=actor, now=timezone.now()
        )
