"""Projects: the list, and the page of a project's Firebase project, key, send rate and settings."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRedirect

from notifications.admin import health_dialog as healths
from notifications.admin import inbox_secret as inbox_secrets
from notifications.admin import receipts
from notifications.admin.credentials import CredentialsDialog, MachineDialog
from notifications.admin.health_dialog import HealthDialog
from notifications.admin.inbox_secret import EndSecretDialog, NewSecretDialog
from notifications.admin.ui import current_project
from notifications.admin.ui.dialogs import Dialog, ask, close_dialog, refused
from notifications.admin.ui.page import Page, page_url
from notifications.admin.ui.unfolded import action, display
from notifications.admin.ui.widgets import LineInput
from notifications.fcm_data import fetching, words
from notifications.key_check import KeyCheck, check_key
from notifications.keys import credentials, inbox_secret, sealing
from notifications.people.device_health import unseen_for
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from notifications.values.moments import in_zone


@admin.register(Project)
class ProjectPage(Page):
    has_project = False
    list_display = ["name", "slug", "firebase_project_id", "goes_to", "quota", "timezone"]
    search_fields = ["name", "slug"]
    empty_text = gettext_lazy("Everything you send belongs to a project: start here.")
    fieldsets = [
        (None, {"fields": ["name", "slug", "timezone"]}),
        ("Firebase", {"fields": ["firebase_project_id", "credentials", "sends_to"]}),
        (
            gettext_lazy("Pace"),
            {"fields": ["quota_per_minute", "ramp_seconds", "floor_per_second", "health_address"]},
        ),
        (gettext_lazy("Quiet hours"), {"fields": ["quiet_from", "quiet_until"]}),
        (gettext_lazy("Caps"), {"fields": ["cap_per_day", "cap_per_week", "cap_gap_minutes"]}),
        (gettext_lazy("Devices"), {"fields": ["leave_out_unseen_days", "left_out_now"]}),
        (gettext_lazy("Holdout"), {"fields": ["holdout_percent"]}),
        (gettext_lazy("Receipts"), {"fields": ["asks_receipts", "counts_links", "told_where"]}),
        (gettext_lazy("FCM's own figures"), {"fields": ["fcm_app_id", "figures"]}),
        (gettext_lazy("Images"), {"fields": ["image_hosts"]}),
        (gettext_lazy("Links"), {"fields": ["own_hosts"]}),
        (gettext_lazy("Inbox tokens"), {"fields": ["allowed_origins", "inbox_secret"]}),
        (gettext_lazy("Retention"), {"fields": ["retention_link"]}),
    ]
    readonly_fields = [
        "credentials", "sends_to", "health_address", "left_out_now", "told_where", "figures",
        "inbox_secret", "retention_link",
    ]  # fmt: skip
    prepopulated_fields = {"slug": ["name"]}
    actions_detail = [
        "set_credentials", "check_key", "use_machine", "new_inbox_secret", "end_inbox_secret",
        "fetch_figures", "ask_health",
    ]  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("service_account")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in ("image_hosts", "own_hosts", "allowed_origins"):
            kwargs["widget"] = LineInput(spellcheck="false")
        form_field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name in ("quiet_from", "quiet_until"):
            form_field.widget.format = "%H:%M"  # without seconds
        return form_field

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """A new project asks for a few fields only. Its key is set on the page that follows."""
        first = ("name", "slug", "timezone", "firebase_project_id")
        pace = (_("Pace"), {"fields": ["quota_per_minute", "ramp_seconds"]})
        return super().get_fieldsets(request, obj) if obj else [(None, {"fields": first}), pace]

    def response_post_save_add(self, request: HttpRequest, obj: Any) -> HttpResponseRedirect:
        return HttpResponseRedirect(page_url(obj))

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return {} if obj else self.prepopulated_fields

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Leave out actions shown beside their field: they leave no room for the name."""
        actions: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        elsewhere = ("inbox_secret", "figures", "health")
        return [item for item in actions if not item.method.__name__.endswith(elsewhere)]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # it would delete every person, device and run

    @display(description=gettext_lazy("sends to"), label={"emulator": "warning", "fcm": "success"})
    def goes_to(self, obj: Project) -> tuple[str, str]:
        return ("emulator", _("Emulator")) if obj.uses_emulator else ("fcm", "FCM")

    @display(description=gettext_lazy("sends to"))
    def sends_to(self, obj: Project) -> str:
        return self.goes_to(obj)[1]

    @display(description=gettext_lazy("quota a minute"), ordering="quota_per_minute")
    def quota(self, obj: Project) -> str:
        return f"{obj.quota_per_minute:,}"

    @display(description=gettext_lazy("it would leave out"))
    def left_out_now(self, obj: Project) -> SafeString:
        """How many devices the setting leaves out. The page asks again when the days change."""
        return render_to_string("admin/notifications/project/left_out_now.html", {"project": obj})

    def unseen_view(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """How many devices the number of days in the form would leave out, saved or not."""
        project = get_object_or_404(Project, pk=object_id)
        days, count = request.GET.get("leave_out_unseen_days", ""), None
        is_number = len(days) < 5 and days.isascii() and days.isdecimal() and int(days) > 0
        with suppress(TooSlow):
            if is_number:
                count = unseen_for(int(days), project.pk, now=timezone.now())
        context = {"days": days, "found": count, "asked": is_number}
        return render(request, "admin/notifications/project/unseen.html", context)

    def get_urls(self) -> list[Any]:
        view = require_GET(self.guarded(self.unseen_view))
        return [path("<int:object_id>/unseen/", view, name="project_unseen"), *super().get_urls()]

    @display(description=gettext_lazy("key"))
    def credentials(self, obj: Project) -> SafeString:
        account = getattr(obj, "service_account", None)
        if obj.uses_default_credentials:
            hint = _("application default credentials; the uploaded key, if any, is not used")
            own = _("This machine's own")
            return format_html("{} <span class='c-hint'>{}</span>", own, hint)
        if account is None:
            todo = _("Nothing can be sent: set one above.")
            return format_html("<strong>{}</strong> {}", _("None yet."), todo)
        text = _("since %(when)s, encrypted with key %(key)s")
        if account.sealed_with != sealing.key_id():
            text = _(
                "since %(when)s, encrypted with key %(key)s, an older one than %(newest)s; "
                "checking the key renews it"
            )
        since = in_zone(account.stored_at, obj.timezone)
        text %= {"when": since, "key": account.sealed_with, "newest": sealing.key_id()}
        return format_html("{} <span class='c-hint'>{}</span>", account.client_email, text)

    @display(description=gettext_lazy("health address"))
    def health_address(self, obj: Project) -> SafeString:
        return healths.health_html(obj)

    @display(description=gettext_lazy("inbox secret"))
    def inbox_secret(self, obj: Project) -> SafeString:
        return inbox_secrets.standing(obj)

    @display(description=gettext_lazy("apps report to"))
    def told_where(self, obj: Project) -> SafeString:
        return receipts.told_where()

    @display(description=gettext_lazy("figures"))
    def figures(self, obj: Project) -> SafeString:
        return receipts.receipts_html(obj)

    @display(description=gettext_lazy("kept"))
    def retention_link(self, obj: Project) -> SafeString:
        where, label = reverse("admin:retention", args=[obj.pk]), _("How long data is kept")
        return format_html('<a class="c-link" href="{}">{}</a>', where, label)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change and current_project.current_project(request):
            current_project.choose(request, obj)
        if change and "firebase_project_id" in form.changed_data:
            messages.warning(
                request,
                _("Its Firebase project ID has changed: set that project's key, or check it."),
            )

    # --- The key -------------------------------------------------------------------------------

    @action(
        description=gettext_lazy("Set credentials"),
        icon="key",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Set the service account"),
            form=CredentialsDialog,
            button=gettext_lazy("Check and store"),
        ),
    )
    def set_credentials(
        self, request: HttpRequest, form: CredentialsDialog, object_id: str
    ) -> HttpResponse:
        credentials.use(form.project, form.info)
        self.record(request, "set credentials", form.project)
        return show_key_check(
            request, form.project, check_key(form.project), before=_("The key is stored.")
        )

    @action(
        description=gettext_lazy("Check the key"),
        icon="network_check",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Check the key?"),
            text=gettext_lazy(
                "FCM checks one message to a made-up address. Nothing reaches a phone. It "
                "takes a few seconds."
            ),
            button=gettext_lazy("Check"),
        ),
    )
    def check_key(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        project = Project.objects.get(pk=object_id)
        return show_key_check(request, project, check_key(project))

    @action(
        description=gettext_lazy("Credentials of this machine"),
        icon="dns",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("This machine's credentials"),
            form=MachineDialog,
            button=gettext_lazy("Check and change"),
        ),
    )
    def use_machine(
        self, request: HttpRequest, form: MachineDialog, object_id: str
    ) -> HttpResponse:
        if not form.possible:
            return refused(request, form, _("It was not changed."))
        project = form.turned()
        result = check_key(project)
        if not result.ok:
            return refused(request, form, result.words)
        project.save(update_fields=["uses_default_credentials", "uses_emulator"])
        which = "machine's" if project.uses_default_credentials else "uploaded"
        self.record(request, "changed", project, credentials=which)
        return show_key_check(request, project, result)

    # --- Its own servers -------------------------------------------------------------------------

    @action(
        description=gettext_lazy("Health address"),
        icon="monitor_heart",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Where do your servers say how busy they are?"),
            form=HealthDialog,
            button=gettext_lazy("Ask and save"),
        ),
    )
    def ask_health(self, request: HttpRequest, form: HealthDialog, object_id: str) -> HttpResponse:
        if changes := form.save():
            self.record(request, "changed", form.project, changes=changes)
        return close_dialog(request, form.in_words, to=page_url(form.project))

    # --- FCM's own figures -----------------------------------------------------------------------

    @action(
        description=gettext_lazy("Ask FCM for its figures"),
        icon="query_stats",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Ask FCM for its figures?"),
            text=gettext_lazy("It takes some seconds. FCM is asked once a day anyway."),
            button=gettext_lazy("Ask now"),
        ),
    )
    def fetch_figures(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        project = Project.objects.get(pk=object_id)
        if not project.fcm_app_id:
            return refused(request, form, _("Give the Android app ID first, and save."))
        asking = fetching.fetch_now(project, now=timezone.now())
        fix = words.fix(asking, firebase_project_id=project.firebase_project_id)
        if fix:
            return refused(request, form, fix)
        return close_dialog(request, _("FCM has told its figures."), to=page_url(project))

    # --- The inbox secret ------------------------------------------------------------------------

    @action(
        description=gettext_lazy("New inbox secret"),
        icon="enhanced_encryption",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("New inbox secret"),
            form=NewSecretDialog,
            button=gettext_lazy("Make it"),
        ),
    )
    def new_inbox_secret(
        self, request: HttpRequest, form: NewSecretDialog, object_id: str
    ) -> HttpResponse:
        created = inbox_secret.replace(form.project, now=timezone.now())
        if created is None:
            return refused(request, form, _("It was not changed."))
        row, text = created
        self.record(request, "created", row)
        return inbox_secrets.show_secret(request, form.project, text)

    @action(
        description=gettext_lazy("End the old inbox secret"),
        icon="timer_off",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("End the old inbox secret?"),
            form=EndSecretDialog,
            button=gettext_lazy("End it"),
        ),
    )
    def end_inbox_secret(
        self, request: HttpRequest, form: EndSecretDialog, object_id: str
    ) -> HttpResponse:
        ended = inbox_secret.end_the_one_before(form.project, now=timezone.now())
        if ended is None:
            return refused(request, form, _("It was not changed."))
        self.record(request, "revoked", ended)
        return close_dialog(
            request, _("The old inbox secret has ended."), to=page_url(form.project)
        )


def show_key_check(
    request: HttpRequest, project: Project, found: KeyCheck, *, before: str = ""
) -> HttpResponse:
    """Redirect to the project, with the result of the key check as a message."""
    words = [before, found.words]
    if found.ok:
        emulated = project.uses_emulator
        text = (
            _("%(project)s sends to the emulator.") if emulated else _("%(project)s sends to FCM.")
        )
        words.append(text % {"project": project})
    say = messages.success if found.ok else messages.error
    say(request, " ".join(words).strip())
    return HttpResponseClientRedirect(page_url(project))
