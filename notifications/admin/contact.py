"""People: found by the start of their id among a million."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from notifications.admin.json_field import JSONText
from notifications.admin.page import Page, scoped
from notifications.admin.unfolded import ModelForm, TabularInline, display
from notifications.admin.widgets import CodeArea
from notifications.contact import Contact
from notifications.device import Device
from notifications.moments import in_zone

SHOWN_ATTRIBUTES = 4


class ContactForm(ModelForm):
    attributes = JSONText(
        required=False,
        widget=CodeArea(rows=12),
        help_text='What rules and texts may ask for, e.g. {"plan": "pro", "points": 120}.',
    )

    class Meta:
        model = Contact
        fields = ["project", "external_id", "locale", "timezone", "attributes"]
        help_texts = {"locale": "A language tag such as en, ko or pt-BR: it chooses the text."}


class DeviceInline(TabularInline):
    """Read here, registered by the app."""

    model = Device
    fields = readonly_fields = ("short_address", "platform", "app_version", "seen", "state")
    extra = 0
    can_delete = False
    show_change_link = True
    hide_title = True
    verbose_name_plural = "devices"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="address")
    def short_address(self, obj: Device) -> str:
        return obj.short_address

    @display(description="last seen")
    def seen(self, obj: Device) -> str:
        return in_zone(obj.last_seen_at, obj.project.timezone)

    @display(description="state")
    def state(self, obj: Device) -> str:
        return "active" if obj.active else f"retired: {obj.retired_reason}"


@admin.register(Contact)
class ContactPage(Page):
    form = ContactForm
    list_display = ["external_id", "about", "locale", "timezone", "devices", "since"]
    search_fields = ["^external_id"]
    search_help_text = "Start of an external id"
    endless = True
    sortable_by = ()
    list_select_related = ["project"]
    inlines = [DeviceInline]
    empty_text = "People arrive from your app through the API, from a CSV file, or one by one here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Contact]:
        return scoped(super().get_queryset(request)).prefetch_related("devices")

    @display(description="about")
    def about(self, obj: Contact) -> SafeString:
        shown = list(obj.attributes.items())[:SHOWN_ATTRIBUTES]
        text = " · ".join(_short(value) for _, value in shown if value not in (None, "", []))
        names = ", ".join(name for name, _ in shown)
        return format_html('<span class="c-clip" title="{}">{}</span>', names, text or "–")

    @display(description="devices")
    def devices(self, obj: Contact) -> str:
        active = sum(device.active for device in obj.devices.all())
        retired = len(obj.devices.all()) - active
        return f"{active}" + (f" (+{retired} retired)" if retired else "")

    @display(description="since")
    def since(self, obj: Contact) -> str:
        return in_zone(obj.created_at, obj.project.timezone).rpartition(",")[0]


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 30 else f"{text[:29]}…"
