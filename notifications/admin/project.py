"""Projects: through which Firebase project people are reached, at which pace, with whose key."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from notifications.admin.dialogs import Dialog, ask, done
from notifications.admin.page import Page, page_url
from notifications.admin.unfolded import action, display
from notifications.admin.widgets import CodeArea
from notifications.credentials import ServiceAccount
from notifications.project import Project


class CredentialsDialog(Dialog):
    wide = True
    key = forms.JSONField(
        label="Service account (JSON)",
        widget=CodeArea(rows=8, placeholder='{"type": "service_account", …}'),
        help_text="Firebase console → Project settings → Service accounts → Generate new private "
        "key. It is encrypted before it is stored, and never shown again.",
    )
    emulator = forms.BooleanField(
        label="Keep sending to the emulator",
        required=False,
        help_text="Leave it off to send to real phones from now on.",
    )

    def clean_key(self) -> Any:
        info = self.cleaned_data["key"]
        if not isinstance(info, dict):
            raise ValidationError("Paste the whole file, from { to }.")
        self.project = Project.objects.get(pk=self.object_id or 0)
        ServiceAccount.store(self.project, info)
        return info


@admin.register(Project)
class ProjectPage(Page):
    has_project = False
    list_display = ["name", "slug", "firebase_project_id", "sends_to", "quota", "timezone"]
    search_fields = ["name", "slug"]
    fieldsets = [
        (None, {"fields": ["name", "slug", "timezone"]}),
        (
            "Firebase",
            {"fields": ["firebase_project_id", "credentials", "sends_to", "quota_per_minute"]},
        ),
    ]
    readonly_fields = ["credentials", "sends_to"]
    prepopulated_fields = {"slug": ["name"]}
    actions_detail = ["set_credentials"]

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("service_account")

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return {} if obj else self.prepopulated_fields

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # with it would go every person, device and run

    @display(description="sends to", label={"Emulator": "warning", "FCM": "success"})
    def sends_to(self, obj: Project) -> str:
        return "Emulator" if obj.uses_emulator else "FCM"

    @display(description="quota a minute", ordering="quota_per_minute")
    def quota(self, obj: Project) -> str:
        return f"{obj.quota_per_minute:,}"

    @display(description="service account")
    def credentials(self, obj: Project) -> SafeString:
        account = getattr(obj, "service_account", None)
        if account is None:
            return format_html(
                "<strong>None yet.</strong> Nothing can be sent: {}", "set one above."
            )
        return format_html("{} <span class='c-hint'>encrypted</span>", account.client_email)

    @action(
        description="Set credentials",
        icon="key",
        permissions=["change"],
        dialog=ask("Set the service account", form=CredentialsDialog, button="Check and store"),
    )
    def set_credentials(
        self, request: HttpRequest, form: CredentialsDialog, object_id: str
    ) -> HttpResponse:
        project = form.project
        Project.objects.filter(pk=project.pk).update(uses_emulator=form.cleaned_data["emulator"])
        self.record(request, "set credentials", project)
        where = "the emulator" if form.cleaned_data["emulator"] else "FCM"
        return done(request, f"The key works. {project} sends to {where}.", to=page_url(project))
