"""API keys: pages to list, create and revoke them. The key itself is shown once, after creation."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from notifications.admin.ui.dialogs import Dialog, FinalDialog, ask, close_dialog, refused
from notifications.admin.ui.page import Page, page_url
from notifications.admin.ui.unfolded import ModelForm, action, display
from notifications.staff.api_key import ApiKey, Scope
from notifications.values.moments import in_zone, validate_year


class ApiKeyForm(ModelForm):
    scopes = forms.MultipleChoiceField(
        label=pgettext_lazy("what a key may do", "May"),
        choices=Scope.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text=gettext_lazy("Tick only what the program needs. A key cannot be changed later."),
    )

    class Meta:
        model = ApiKey
        fields = ["project", "name", "scopes", "expires_at"]
        help_texts = {
            "name": gettext_lazy("Which program will use it, e.g. “shop backend”."),
            "expires_at": gettext_lazy("In UTC. Empty: it works until it is revoked."),
        }

    def clean_expires_at(self) -> datetime | None:
        moment: datetime | None = self.cleaned_data["expires_at"]
        if moment is not None:
            validate_year(moment)
        return moment


@admin.register(ApiKey)
class ApiKeyPage(Page):
    form = ApiKeyForm
    list_display = ["name", "starts_with", "may", "used", "state_label"]
    list_select_related = ["project"]
    shown_only = True
    actions_detail = ["revoke"]
    empty_text = gettext_lazy("Your app's backend needs one to register people and devices.")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # a revoked key stays, so that one can look up whose it was

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        if obj is None:
            return ["project", "name", "scopes", "expires_at"]
        return ["name", "starts_with", "may_in_words", "created", "expires", "used", "state"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj) if obj else []

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj:  # all of it is read-only
            kwargs["form"] = ModelForm
        return super().get_form(request, obj, change, **kwargs)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        actions: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        key = self.get_object(request, object_id)
        return actions if key is not None and key.revoked_at is None else []

    # --- Creating ------------------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        issued, obj.key = ApiKey.issue(obj.project, obj.name, obj.scopes, obj.expires_at)
        obj.pk, obj.prefix = issued.pk, issued.prefix
        self.record(request, "created", obj, scopes=obj.scopes)

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the new key without a redirect, so that no cookie or session ever holds it."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("Copy the key now"),
            "opts": self.opts,
            "made": obj,
        }
        return TemplateResponse(request, "admin/api_key_made.html", context)

    # --- Showing and revoking ------------------------------------------------------------------

    @display(description=gettext_lazy("starts with"))
    def starts_with(self, obj: ApiKey) -> str:
        return f"{obj.prefix}…"

    @display(description=pgettext_lazy("what a key may do", "may"))
    def may(self, obj: ApiKey) -> str:
        return obj.may

    @display(description=pgettext_lazy("what a key may do", "may"))
    def may_in_words(self, obj: ApiKey) -> SafeString:
        labels = ((Scope(scope).label,) for scope in Scope.values if scope in obj.scopes)
        return format_html_join("", "<p>{}</p>", labels)

    @display(description=pgettext_lazy("when", "created"))
    def created(self, obj: ApiKey) -> str:
        return in_zone(obj.created_at, obj.project.timezone)

    @display(description=gettext_lazy("expires"))
    def expires(self, obj: ApiKey) -> str:
        return in_zone(obj.expires_at, obj.project.timezone) if obj.expires_at else _("never")

    @display(description=gettext_lazy("last used"))
    def used(self, obj: ApiKey) -> str:
        return in_zone(obj.last_used_at, obj.project.timezone) if obj.last_used_at else _("never")

    @display(description=gettext_lazy("state"))
    def state(self, obj: ApiKey) -> str:
        return self.state_label(obj)[1]

    @display(
        description=gettext_lazy("state"),
        label={"works": "success", "revoked": "danger", "expired": "warning"},
    )
    def state_label(self, obj: ApiKey) -> tuple[str, str]:
        if obj.revoked_at:
            return "revoked", _("revoked")
        if obj.expires_at and obj.expires_at <= timezone.now():
            return "expired", _("expired")
        return "works", _("works")

    @action(
        description=gettext_lazy("Revoke"),
        icon="block",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Revoke this key?"),
            form=FinalDialog,
            text=gettext_lazy(
                "Programs that use it are refused from the next request on. It cannot be undone."
            ),
            button=gettext_lazy("Revoke"),
        ),
    )
    def revoke(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        works = ApiKey.objects.filter(pk=object_id, revoked_at=None)
        if not works.update(revoked_at=timezone.now()):
            return refused(request, form, _("This key was revoked already."))
        key = ApiKey.objects.get(pk=object_id)
        self.record(request, "revoked", key)
        return close_dialog(request, _("%(key)s is revoked.") % {"key": key}, to=page_url(key))
