"""Devices: the list, and the pages to add, retire and restore one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notifications.admin.ui.dialogs import Dialog, ask, close_dialog, refused
from notifications.admin.ui.page import Page, page_url
from notifications.admin.ui.unfolded import ModelForm, action, display
from notifications.admin.ui.widgets import CodeArea, LineInput
from notifications.people.address_suffix import ending_in
from notifications.people.contact import Contact
from notifications.people.device import Device, retire_by_hand
from notifications.people.installations import REPLACED, retire_older
from notifications.staff.actors import who
from notifications.values.moments import in_zone

BY_HAND = "by hand"
WHY = {
    BY_HAND: gettext_lazy("by hand"),
    "removed": gettext_lazy("removed through the API"),
    "unregistered": gettext_lazy("app uninstalled or address expired"),
    "malformed_address": gettext_lazy("not a valid FCM address"),
    REPLACED: gettext_lazy("the same app on the same phone has a newer address"),
}
MIN_TAIL = 6  # characters; a shorter ending matches too many devices to be useful


def why(device: Device) -> str:
    """Why the device was retired: “app uninstalled or address expired (run 7)”."""
    reason = str(WHY.get(device.retired_reason, device.retired_reason))
    return f"{reason} ({who(device.retired_by)})" if device.retired_by else reason


def addressed(devices: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Devices with exactly this address, by its unique index; if none, those ending in it."""
    whole = devices.filter(kind__in=Device.Kind.values, address=text)
    if len(text) < MIN_TAIL or whole.exists():
        return whole
    return ending_in(devices, text)


class StateFilter(admin.SimpleListFilter):
    """Filter by “Active” and “Retired”, where Django would offer “Empty” and “Not empty”."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", _("Active")), ("retired", _("Retired"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() in ("active", "retired"):
            return queryset.filter(retired_at__isnull=self.value() == "active")
        return queryset


class DeviceForm(ModelForm):
    """Form to add a device to a person. What the app reported is not edited afterwards."""

    person = forms.CharField(
        label=gettext_lazy("Person"),
        widget=LineInput(),
        help_text=gettext_lazy("The external id of the person it belongs to."),
    )

    class Meta:
        model = Device
        fields = ["project", "kind", "address", "platform", "app_version"]
        widgets = {"address": CodeArea(rows=3)}
        error_messages = {
            NON_FIELD_ERRORS: {
                "unique_together": gettext_lazy(
                    "This address already belongs to somebody's device."
                )
            }
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        project, person = cleaned.get("project"), cleaned.get("person")
        if project and person:
            known = Contact.objects.filter(project=project, external_id=person)
            contact = known.select_for_update(no_key=True).first()  # until the device is saved
            if contact is None:
                text = _("No person “%(person)s” in %(project)s.")
                raise ValidationError({"person": text % {"person": person, "project": project}})
            self.instance.contact = contact
        self.instance.registered_at = self.instance.last_seen_at = timezone.now()
        self.instance.registered_from = Device.Source.PAGE
        return cleaned


@admin.register(Device)
class DevicePage(Page):
    list_display = [
        "short_address",
        "person",
        "platform",
        "app_version",
        "last_seen",
        "state_label",
    ]
    list_filter = ["platform", StateFilter]
    search_fields = ["address"]
    search_help_text = gettext_lazy("End of an address, or all of it")
    endless = True
    sortable_by = ()
    list_select_related = ["contact", "project"]
    shown_only = True
    actions_detail = ["retire", "restore"]
    empty_text = gettext_lazy("Devices arrive from your app through the API.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Device]:
        return super().get_queryset(request).select_related("contact", "project")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by indexes only: a case-insensitive search would read a million rows."""
        term = search_term.strip()
        return (addressed(queryset, term) if term else queryset), False

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        return super().get_form(request, obj, change, **({} if obj else {"form": DeviceForm}))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        if obj is None:
            return ["project", "person", "kind", "address", "platform", "app_version"]
        fields = ["person", "kind", "whole", "platform", "app_version", "registered", "last_seen"]
        return [*fields, "state"] if obj.active else [*fields, "retired", "state"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj) if obj else []

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        device = self.get_object(request, object_id)
        active = device is not None and device.active
        hidden = "restore" if active else "retire"
        actions = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        return [item for item in actions if not item.action_name.endswith(hidden)]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        retire_older([obj.pk], now=timezone.now())

    @display(description=gettext_lazy("address"))
    def short_address(self, obj: Device) -> str:
        return obj.short_address

    @display(description=gettext_lazy("address"))
    def whole(self, obj: Device) -> SafeString:
        return format_html('<span class="c-code c-anywhere">{}</span>', obj.address)

    @display(description=gettext_lazy("person"))
    def person(self, obj: Device) -> SafeString:
        return format_html('<a class="c-link" href="{}">{}</a>', page_url(obj.contact), obj.contact)

    @display(description=gettext_lazy("last seen"))
    def last_seen(self, obj: Device) -> str:
        return (
            in_zone(obj.seen_at, obj.project.timezone) if obj.seen_at else _("not since its import")
        )

    @display(description=gettext_lazy("registered"))
    def registered(self, obj: Device) -> str:
        at = in_zone(obj.registered_at, obj.project.timezone)
        return f"{at} ({obj.get_registered_from_display()})" if obj.registered_from else at

    @display(description=gettext_lazy("retired"))
    def retired(self, obj: Device) -> str:
        return in_zone(obj.retired_at, obj.project.timezone)

    @display(description=gettext_lazy("state"))
    def state(self, obj: Device) -> str:
        return _("Active") if obj.active else _("Retired: %(why)s") % {"why": why(obj)}

    @display(description=gettext_lazy("state"), label={"active": "success", "retired": ""})
    def state_label(self, obj: Device) -> tuple[str, str]:
        return ("active", _("Active")) if obj.active else ("retired", _("Retired"))

    @action(
        description=gettext_lazy("Retire"),
        icon="block",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Retire this device?"),
            text=gettext_lazy("It receives nothing until the app registers its address again."),
            button=gettext_lazy("Retire"),
        ),
    )
    def retire(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        with transaction.atomic():
            if not retire_by_hand(object_id, reason=BY_HAND, now=timezone.now()):
                return refused(request, form, _("This device was retired already."))
            device = Device.objects.get(pk=object_id)
            self.record(request, "retired", device)
        return close_dialog(request, _("The device was retired."), to=page_url(device))

    @action(
        description=gettext_lazy("Restore"),
        icon="undo",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Restore this device?"),
            text=gettext_lazy(
                "It is sent to again. If FCM calls its address dead, it is retired again."
            ),
            button=gettext_lazy("Restore"),
        ),
    )
    def restore(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        retired = Device.objects.filter(pk=object_id, retired_at__isnull=False)
        if not retired.update(retired_at=None, retired_reason="", retired_by=""):
            return refused(request, form, _("This device was restored already."))
        device = Device.objects.get(pk=object_id)
        retire_older([device.pk], now=timezone.now())
        device.refresh_from_db()
        if not device.active:
            newer = _(
                "This phone has registered a newer address since; that one receives messages."
            )
            return refused(request, form, newer)
        self.record(request, "restored", device)
        return close_dialog(request, _("The device was restored."), to=page_url(device))
