"""Projects: through which Firebase project people are reached, at which pace, with whose key."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django_htmx.http import HttpResponseClientRedirect

from notifications import credentials, sealing
from notifications.admin.credentials import CredentialsDialog, MachineDialog
from notifications.admin.dialogs import Dialog, ask, refused
from notifications.admin.page import Page, page_url
from notifications.admin.unfolded import action, display
from notifications.moments import in_zone
from notifications.probe import Probe, probe
from notifications.project import Project

MACHINES = "application default credentials; the uploaded key, if any, is not used"


@admin.register(Project)
class ProjectPage(Page):
    has_project = False
    list_display = ["name", "slug", "firebase_project_id", "sends_to", "quota", "timezone"]
    search_fields = ["name", "slug"]
    fieldsets = [
        (None, {"fields": ["name", "slug", "timezone"]}),
        ("Firebase", {"fields": ["firebase_project_id", "credentials", "sends_to"]}),
        ("Pace", {"fields": ["quota_per_minute", "ramp_seconds"]}),
    ]
    readonly_fields = ["credentials", "sends_to"]
    prepopulated_fields = {"slug": ["name"]}
    actions_detail = ["set_credentials", "check_key", "use_machine"]

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

    @display(description="key")
    def credentials(self, obj: Project) -> SafeString:
        account = getattr(obj, "service_account", None)
        if obj.uses_default_credentials:
            return format_html("This machine's own <span class='c-hint'>{}</span>", MACHINES)
        if account is None:
            return format_html(
                "<strong>None yet.</strong> Nothing can be sent: {}", "set one above."
            )
        sealed = f"encrypted with key {account.sealed_with}"
        if account.sealed_with != sealing.key_id():
            sealed += f", an older one than {sealing.key_id()}; checking the key renews it"
        since = in_zone(account.stored_at, obj.timezone)
        return format_html(
            "{} <span class='c-hint'>{}, {}</span>", account.client_email, f"since {since}", sealed
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and "firebase_project_id" in form.changed_data:
            text = "Its Firebase project ID is another now: set that project's key, or check it."
            messages.warning(request, text)

    # --- The key -------------------------------------------------------------------------------

    @action(
        description="Set credentials",
        icon="key",
        permissions=["change"],
        dialog=ask("Set the service account", form=CredentialsDialog, button="Check and store"),
    )
    def set_credentials(
        self, request: HttpRequest, form: CredentialsDialog, object_id: str
    ) -> HttpResponse:
        credentials.use(form.project, form.info)
        self.record(request, "set credentials", form.project)
        return told(request, form.project, probe(form.project), before="The key is stored.")

    @action(
        description="Check the key",
        icon="network_check",
        permissions=["change"],
        dialog=ask(
            "Check the key?",
            text="FCM is asked to look at one message to a made-up address. Nothing reaches a "
            "phone. It takes a few seconds.",
            button="Check",
        ),
    )
    def check_key(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        project = Project.objects.get(pk=object_id)
        return told(request, project, probe(project))

    @action(
        description="Credentials of this machine",
        icon="dns",
        permissions=["change"],
        dialog=ask("This machine's credentials", form=MachineDialog, button="Check and change"),
    )
    def use_machine(
        self, request: HttpRequest, form: MachineDialog, object_id: str
    ) -> HttpResponse:
        if not form.possible:
            return refused(request, form, "It was not changed.")
        project = form.turned()
        found = probe(project)
        if not found.ok:
            return refused(request, form, found.words)
        project.save(update_fields=["uses_default_credentials", "uses_emulator"])
        which = "machine's" if project.uses_default_credentials else "uploaded"
        self.record(request, "changed", project, credentials=which)
        return told(request, project, found)


def told(request: HttpRequest, project: Project, found: Probe, *, before: str = "") -> HttpResponse:
    """Back to the project, with the probe's reply at the top."""
    words = [before, found.words]
    if found.ok:
        words.append(f"{project} sends to {'the emulator' if project.uses_emulator else 'FCM'}.")
    say = messages.success if found.ok else messages.error
    say(request, " ".join(words).strip())
    return HttpResponseClientRedirect(page_url(project))
