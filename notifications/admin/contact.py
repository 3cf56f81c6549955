"""People: admin pages with search by the start of an id or the end of a device's address."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from notifications.admin import consent_answers, testers
from notifications.admin.device import MIN_TAIL, addressed, why
from notifications.admin.person_attributes import AttributeRows, with_empty_ones
from notifications.admin.ui.current_project import current_project, filter_by_project
from notifications.admin.ui.dialogs import ask, close_dialog
from notifications.admin.ui.page import (
    LONGEST_SEARCH,
    Page,
    actor,
    keep_as_stored,
    page_url,
)
from notifications.admin.ui.unfolded import ModelForm, action, display
from notifications.people import attributes
from notifications.people.attributes import in_words, types_of
from notifications.people.consent.suppression import Suppression
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.events.reading import newest_of
from notifications.people.locking import lock_people_against_erasure
from notifications.people.person_export import everything
from notifications.postgres import budget
from notifications.values.moments import CLOCK, DAY, DAY_AND_CLOCK, local
from notifications.values.plain_values import NOTHING, briefly, plainly, spaced

SHOWN_ATTRIBUTES = 4
SHOWN_LETTERS = 30
MAX_OWNERS = 50
SEARCHING_SECONDS = 2.0


class ContactForm(ModelForm):
    attributes = AttributeRows(
        label=_("Attributes"),
        required=False,
        help_text=_("Values that rules and texts can use, such as a plan or a number of points."),
    )

    class Meta:
        model = Contact
        fields = ["project", "external_id", "locale", "timezone", "tester", "attributes"]
        error_messages = {
            NON_FIELD_ERRORS: {"unique_together": _("This external id is taken already.")}
        }
        help_texts = {"locale": _("A language tag such as en, ko or pt-BR: it chooses the text.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        project_id = self.instance.project_id or self.fields["project"].initial
        types = attributes.types_of(project_id) if project_id else {}
        self.fields["attributes"].widget.types = types

    def clean_attributes(self) -> Any:
        return with_empty_ones(self.cleaned_data["attributes"], self.initial.get("attributes"))

    def clean(self) -> dict[str, Any]:
        """Refuse an erased person: Django would insert the row again and undo the erasure."""
        if self.instance.pk and not lock_people_against_erasure([self.instance.pk]):
            raise ValidationError(gettext("This person has been erased in the meantime."))
        return super().clean() or {}


class SubscribedFilter(admin.SimpleListFilter):
    """Filter by marketing consent. Unsubscribed people are few, and have their own index."""

    title = _("marketing")
    parameter_name = "subscribed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", gettext("Subscribed")), ("no", gettext("Unsubscribed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in ("yes", "no"):
            return queryset.filter(subscribed=self.value() == "yes")
        return queryset


class TesterFilter(admin.SimpleListFilter):
    """Filter for testers. They are few, and have their own index."""

    title = _("tester")
    parameter_name = "tester"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", gettext("Testers"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(tester=True) if self.value() == "yes" else queryset


@admin.register(Contact)
class ContactPage(Page):
    form = ContactForm
    list_filter = [SubscribedFilter, TesterFilter]
    actions = ("mark_testers", "unmark_testers")  # type: ignore[assignment]
    list_disable_select_all = True  # nobody chooses a million people on purpose
    list_display = ["external_id", "about", "locale", "timezone", "devices", "since"]
    search_fields = ["^external_id"]
    search_help_text = _("External id, the end of an address, or a searchable attribute")
    endless = True
    sortable_by = ()
    goes_along = _(
        "Everything known about them is erased: devices, lists, consent. They get no more "
        "messages. Past deliveries stay in the totals, without a name."
    )
    list_select_related = ["project"]
    empty_text = _("People arrive from your app through the API, from a file, or one by one here.")
    actions_detail = ["change_consent"]

    def other_way(self) -> SafeString:
        url = reverse("admin:notifications_import_add")
        return format_html('<a class="c-button" href="{}">{}</a>', url, gettext("Import a file"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Contact]:
        suppressions = Suppression.objects.filter(
            project=OuterRef("project"), external_id=OuterRef("external_id")
        )
        people: QuerySet[Contact] = super().get_queryset(request).prefetch_related("devices")
        listed: QuerySet[Contact] = people.annotate(suppressed=Exists(suppressions))
        return listed

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search ids first, by an index; addresses, then attributes, only if no id matches."""
        matches, duplicates = super().get_search_results(request, queryset, search_term)
        term = search_term.strip()[:LONGEST_SEARCH].replace("\x00", "")
        if not term or matches.exists():
            return matches, duplicates
        owners = owners_of(term, request) if len(term) >= MIN_TAIL else []
        return queryset.filter(pk__in=owners or self._with_the_value(request, term)), False

    def _with_the_value(self, request: HttpRequest, term: str) -> list[int]:
        """The newest people with this value in a searchable attribute; none if it is too slow."""
        mine = current_project(request)
        conditions = attributes.found_by(term, mine.pk) if mine else []
        if not conditions:
            return []
        people = filter_by_project(request, Contact.objects.order_by("-pk")).values_list(
            "pk", flat=True
        )
        queries = [
            people.filter(attributes__contains=condition)[:MAX_OWNERS] for condition in conditions
        ]
        try:
            with budget.statement_timeout(seconds=SEARCHING_SECONDS):
                owner_ids = sorted({pk for ids in queries for pk in ids}, reverse=True)[:MAX_OWNERS]
        except budget.TooSlow:
            messages.warning(request, gettext("Too many people have this value to be listed."))
            return []
        if len(owner_ids) == MAX_OWNERS:
            text = gettext("More people have this value; these are the newest %(count)s.")
            messages.info(request, text % {"count": MAX_OWNERS})
        return owner_ids

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        keep_as_stored(context)  # times cannot be shown in a refused time zone
        if context.get("original"):
            context["profile"] = profile(context["original"])
            context["said"] = consent_answers.picture(context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def get_urls(self) -> list[Any]:
        own = path(
            "<int:contact_id>/export/",
            require_GET(self.admin_site.admin_view(self.export_view)),
            name="person_export",
        )
        return [own, *super().get_urls()]

    def export_view(self, request: HttpRequest, contact_id: int) -> HttpResponseBase:
        """Download everything known about a person. The audit trail records who did."""
        contact = get_object_or_404(self.get_queryset(request), pk=contact_id)
        try:
            known = budget.SlowQueryStream(contact.project_id, everything(contact))
        except budget.Busy:
            messages.warning(
                request, gettext("Too many slow requests are running. Try again in a moment.")
            )
            return redirect(page_url(contact))
        self.record(request, "exported", contact)
        return StreamingHttpResponse(
            known,
            content_type="application/json",
            headers={"Content-Disposition": f'attachment; filename="person-{contact.pk}.json"'},
        )

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.record(request, "erased", obj)
        obj.delete()

    @action(
        description=_("Change what they want"),
        icon="thumbs_up_down",
        permissions=["change"],
        dialog=ask(
            _("What does this person want?"),
            form=consent_answers.AnswersDialog,
            text=_(
                "Enter what they told you. It is recorded in the history with the current time."
            ),
            button=_("Save"),
        ),
    )
    def change_consent(
        self, request: HttpRequest, form: consent_answers.AnswersDialog, object_id: str
    ) -> HttpResponse:
        with transaction.atomic():
            changed = form.write(actor(request))
            if changed:  # only how many, not the answers themselves
                self.record(request, "changed consent", form.contact, answers=changed)
        text = gettext("Saved.") if changed else gettext("Nothing was changed.")
        return close_dialog(request, text, to=page_url(form.contact))

    mark_testers, unmark_testers = testers.mark, testers.unmark

    def get_actions(self, request: HttpRequest) -> Any:
        """The list's actions without Django's “delete selected”."""
        actions = super().get_actions(request)
        return {name: actions[name] for name in self.actions or () if name in actions}

    # --- Logs, which outlive a person ----------------------------------------------------------

    def record(self, request: HttpRequest, action: str, obj: Any, **detail: Any) -> None:
        super().record(request, action, nameless(obj), **detail)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return super().log_addition(request, nameless(obj), message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return super().log_change(request, nameless(obj), message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        nobody: Any = [nameless(row) for row in queryset]
        return super().log_deletions(request, nobody)

    # --- The list ------------------------------------------------------------------------------

    @display(description=_("about"))
    def about(self, obj: Any) -> SafeString:
        listed = list(obj.attributes.items())[:SHOWN_ATTRIBUTES]
        filled = ((name, value) for name, value in listed if value not in NOTHING)
        parts = (f"{spaced(name)} {briefly(value, SHOWN_LETTERS)}" for name, value in filled)
        text = " · ".join(parts) or "–"
        known = format_html('<span class="c-clip" title="{}">{}</span>', text, text)
        states = [
            *([gettext("Suppressed")] if obj.suppressed else []),
            *([gettext("Tester")] if obj.tester else []),
        ]
        shown_states = format_html_join("", '<span class="c-state">{}</span> ', zip(states))
        return shown_states + known

    @display(description=_("devices"))
    def devices(self, obj: Contact) -> str:
        active = sum(device.active for device in obj.devices.all())
        retired = len(obj.devices.all()) - active
        if not retired:
            return f"{active}"
        return gettext("%(active)d (+%(retired)d retired)") % {"active": active, "retired": retired}

    @display(description=_("since"))
    def since(self, obj: Contact) -> str:
        return local(obj.created_at, obj.project.timezone, DAY)


def nameless(contact: Contact) -> Contact:
    """The contact under its row number: neither log may keep an external id after an erasure."""
    return Contact(pk=contact.pk, project_id=contact.project_id, external_id=str(contact.pk))


def owners_of(tail: str, request: HttpRequest) -> list[int]:
    """Ids of the contacts with a device whose address is `tail` or ends in it."""
    devices = addressed(filter_by_project(request, Device.objects.order_by()), tail)
    return list(devices.values_list("contact_id", flat=True)[:MAX_OWNERS])


def profile(contact: Contact) -> dict[str, Any]:
    devices = list(contact.devices.order_by("retired_at", "-last_seen_at"))
    active = [device for device in devices if device.active]
    ours, types = contact.project.timezone, types_of(contact.project_id)
    last_seen = max((device.seen_at for device in devices if device.seen_at), default=None)
    in_order = sorted(devices, key=lambda device: not device.active)
    return {
        "devices": [(device, why(device)) for device in in_order],
        "active": len(active),
        "retired": len(devices) - len(active),
        "last_seen": local(last_seen, ours, DAY_AND_CLOCK) if last_seen else "",
        "since": local(contact.created_at, ours, DAY_AND_CLOCK),
        "local_time": local(timezone.now(), contact.timezone or ours, CLOCK),
        "zone": ours,
        "events": [
            (spaced(did.name), local(did.at, ours, DAY_AND_CLOCK), plainly(did.properties))
            for did in newest_of(contact.pk)
        ],
        "known": [
            (spaced(name), in_words(value, types.get(name, ""), ours))
            for name, value in contact.attributes.items()
        ],
    }
