"""People: found among a million by the start of their id, or by the end of a device's address."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.admin.device import LEAST_TAIL, addressed, why
from notifications.admin.furniture.chosen import within
from notifications.admin.furniture.json_field import ExactJSONText
from notifications.admin.furniture.page import Page
from notifications.admin.furniture.unfolded import ModelForm, display
from notifications.admin.furniture.widgets import CodeArea
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.locking import stay
from notifications.values.moments import CLOCK, DAY, DAY_AND_CLOCK, local

SHOWN_ATTRIBUTES = 4
NOTHING: tuple[Any, ...] = (None, "", [])
MOST_OWNERS = 50


class ContactForm(ModelForm):
    attributes = ExactJSONText(
        label=_("Attributes"),
        required=False,
        widget=CodeArea(rows=12),
        help_text=_('What rules and texts may ask for, e.g. {"plan": "pro", "points": 120}.'),
    )

    class Meta:
        model = Contact
        fields = ["project", "external_id", "locale", "timezone", "attributes"]
        error_messages = {
            NON_FIELD_ERRORS: {"unique_together": _("This external id is taken already.")}
        }
        help_texts = {"locale": _("A language tag such as en, ko or pt-BR: it chooses the text.")}

    def clean(self) -> dict[str, Any]:
        """Django would write a row that is gone anew; and an erasure must not be undone."""
        if self.instance.pk and not stay([self.instance.pk]):
            raise ValidationError(gettext("This person was erased meanwhile."))
        return super().clean() or {}


@admin.register(Contact)
class ContactPage(Page):
    form = ContactForm
    list_display = ["external_id", "about", "locale", "timezone", "devices", "since"]
    search_fields = ["^external_id"]
    search_help_text = _("External id, or the end of an address")
    endless = True
    sortable_by = ()
    goes_along = _("Their devices are deleted as well, and nothing reaches them any more.")
    list_select_related = ["project"]
    empty_text = _("People arrive from your app through the API, or one by one here.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Contact]:
        return super().get_queryset(request).prefetch_related("devices")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By id first, which an index answers; only a search that found nobody reads addresses."""
        found, duplicates = super().get_search_results(request, queryset, search_term)
        term = search_term.strip()
        if len(term) < LEAST_TAIL or found.exists():
            return found, duplicates
        return queryset.filter(pk__in=owners_of(term, request)), False

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        if context.get("original"):
            context["profile"] = profile(context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    # --- What outlives a person ----------------------------------------------------------------

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
    def about(self, obj: Contact) -> SafeString:
        shown = list(obj.attributes.items())[:SHOWN_ATTRIBUTES]
        parts = (f"{spaced(name)} {_short(value)}" for name, value in shown if value not in NOTHING)
        text = " · ".join(parts) or "–"
        return format_html('<span class="c-clip" title="{}">{}</span>', text, text)

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
    """By number: the trail, and Django's own log, must not keep what an erasure erased."""
    return Contact(pk=contact.pk, project_id=contact.project_id, external_id=str(contact.pk))


def owners_of(tail: str, request: HttpRequest) -> list[int]:
    """Whose device has an address that ends so, or is exactly this."""
    found = addressed(within(request, Device.objects.order_by()), tail)
    return list(found.values_list("contact_id", flat=True)[:MOST_OWNERS])


def profile(contact: Contact) -> dict[str, Any]:
    devices = list(contact.devices.order_by("retired_at", "-last_seen_at"))
    active = [device for device in devices if device.active]
    ours = contact.project.timezone
    seen = max((device.last_seen_at for device in devices), default=None)
    in_order = sorted(devices, key=lambda device: not device.active)
    return {
        "devices": [(device, why(device)) for device in in_order],
        "active": len(active),
        "retired": len(devices) - len(active),
        "last_seen": local(seen, ours, DAY_AND_CLOCK) if seen else "",
        "since": local(contact.created_at, ours, DAY_AND_CLOCK),
        "local_time": local(timezone.now(), contact.timezone or ours, CLOCK),
        "zone": ours,
        "known": [(spaced(name), _in_words(value)) for name, value in contact.attributes.items()],
    }


def spaced(name: str) -> str:
    return name.replace("_", " ")


def _in_words(value: Any) -> str:
    if value in NOTHING:
        return "–"
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _short(value: Any) -> str:
    text = _in_words(value)
    return text if len(text) <= 30 else f"{text[:29]}…"
