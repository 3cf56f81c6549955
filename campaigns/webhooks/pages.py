"""Endpoints: where reports go, the health of each, and the log of its calls."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.enums import ActionVariant

from campaigns.webhooks import call_log
from campaigns.webhooks.form import EndpointForm, NewSecretDialog
from notifications.admin.ui.dialogs import Dialog, FinalDialog, ask, close_dialog, refused
from notifications.admin.ui.page import Page, page_url
from notifications.admin.ui.unfolded import action, display
from notifications.values.moments import in_zone
from notifications.webhooks import call, event_types, outbox, unpacking
from notifications.webhooks.endpoint import Endpoint

MADE = "admin/notifications/endpoint/made.html"


@admin.register(Endpoint)
class EndpointPage(Page):
    form = EndpointForm
    list_display = ["name", "is_via", "target", "event_kinds", "answered", "state_label"]
    list_select_related = ["project"]
    search_fields = ["name"]
    search_help_text = gettext_lazy("Name")
    actions_detail = ["test", "replay_failed", "new_secret", "switch_off", "switch_on"]
    goes_along = gettext_lazy("What it was still to be told is not sent, and its log goes.")
    empty_text = gettext_lazy(
        "Tell other systems what happens here: a channel in Slack when a run ends or needs "
        "somebody, your own backend when a device is dead or a person says no."
    )

    class Media:
        css = {"all": ["endpoint.css"]}
        js = ["endpoint.js"]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        address = ["project", "name", "is_via" if obj else "via", "to"]
        batched = [] if obj and obj.is_for_people else ["batched"]
        reports = ["kinds", "only", *batched, "language"]
        health = [(gettext_lazy("Health"), {"fields": ["health"]})] if obj else []
        return [
            *health, (None, {"fields": address}), (gettext_lazy("Reports"), {"fields": reports}),
            *([(gettext_lazy("Log"), {"fields": ["log"]})] if obj else []),
        ]  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return ["health", "is_via", "log"] if obj else []

    def get_urls(self) -> list[Any]:
        ours: list[tuple[str, Any, str]] = [
            ("<int:object_id>/log/", call_log.view, "endpoint_log"),
            ("<int:object_id>/log/<int:call_id>/replay/", call_log.replay, "endpoint_replay"),
        ]
        return [*self.guarded_paths(ours), *super().get_urls()]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        obj.secret = form.secret

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Show the new secret without a redirect, so that no cookie or session ever holds it."""
        if obj.secret:
            return self._show_secret(request, obj, obj.secret)
        return super().response_add(request, obj, page_url(obj))

    def _show_secret(self, request: HttpRequest, endpoint: Endpoint, secret: str) -> HttpResponse:
        title = {"title": _("Copy the secret now"), "opts": self.opts}
        details = {"endpoint": endpoint, "secret": secret, "page": page_url(endpoint)}
        context = {**self.admin_site.each_context(request), **title, **details}
        return TemplateResponse(request, MADE, context)

    # --- Display -------------------------------------------------------------------------------

    @display(description=gettext_lazy("how"), ordering="via")
    def is_via(self, obj: Endpoint) -> str:
        return str(obj.get_via_display())

    @display(description=gettext_lazy("is told"))
    def event_kinds(self, obj: Endpoint) -> str:
        if len(obj.kinds) == len(event_types.EventType):
            return _("Everything")
        count = len(obj.kinds)
        return ngettext("%(count)s kind", "%(count)s kinds", count) % {"count": count}

    @display(description=gettext_lazy("last answer"))
    def answered(self, obj: Endpoint) -> str:
        return in_zone(obj.answered_at, obj.project.timezone) if obj.answered_at else _("never")

    @display(
        description=gettext_lazy("state"),
        label={"well": "success", "new": "info", "fails": "warning", "off": "danger"},
    )
    def state_label(self, obj: Endpoint) -> tuple[str, str]:
        if obj.disabled_at:
            return "off", _("disabled")
        if obj.failing_since:
            return "fails", _("fails")
        return ("well", _("works")) if obj.answered_at else ("new", _("not tried yet"))

    @display(description=gettext_lazy("health"))
    def health(self, obj: Endpoint) -> SafeString:
        zone, moments = obj.project.timezone, ("disabled_at", "failing_since", "answered_at")
        at = {name: in_zone(getattr(obj, name), zone) for name in moments if getattr(obj, name)}
        until = obj.before_ends_at
        both_until = in_zone(until, zone) if until and until > timezone.now() else ""
        context = {"endpoint": obj, "at": at, "both_until": both_until}
        return render_to_string("admin/notifications/endpoint/health.html", context)

    @display(description=gettext_lazy("log"))
    def log(self, obj: Endpoint) -> SafeString:
        return render_to_string("admin/notifications/endpoint/log.html", call_log.log_context(obj))

    # --- Actions -------------------------------------------------------------------------------

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        actions: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        row = self.get_object(request, object_id)
        if row is None:
            return []
        hidden = {"switch_off" if row.disabled_at else "switch_on"}
        if row.via != Endpoint.Via.WEBHOOK:
            hidden.add("new_secret")
        if not call.failed(row).exists():
            hidden.add("replay_failed")
        return [item for item in actions if item.method.__name__ not in hidden]

    @action(
        description=gettext_lazy("Send a test"),
        icon="send",
        variant=ActionVariant.PRIMARY,
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Send a test?"),
            text=gettext_lazy("It says only that it is a test. What came of it is in the log."),
            button=gettext_lazy("Send"),
        ),
    )
    def test(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        endpoint = Endpoint.objects.get(pk=object_id)
        unpacking.test(endpoint, now=timezone.now())
        self.record(request, "tested", endpoint)
        return close_dialog(
            request, _("The test is on its way; see the log."), to=page_url(endpoint)
        )

    @action(
        description=gettext_lazy("Replay all failed"),
        icon="replay",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Send again all that failed?"),
            text=gettext_lazy(
                "By their old ids: a receiver that keeps these takes none of them twice."
            ),
            button=gettext_lazy("Send again"),
        ),
    )
    def replay_failed(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        endpoint = Endpoint.objects.get(pk=object_id)
        count = call.again(call.failed(endpoint), now=timezone.now())
        outbox.notify_workers()
        self.record(request, "replayed", endpoint, calls=count)
        text = ngettext("%(count)s is sent again.", "%(count)s are sent again.", count)
        return close_dialog(request, text % {"count": f"{count:,}"}, to=page_url(endpoint))

    @action(
        description=gettext_lazy("New secret"),
        icon="key",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Make a new secret?"),
            form=NewSecretDialog,
            text=gettext_lazy(
                "For a day both sign what is sent, so that your server has time to take the new "
                "one."
            ),
            button=gettext_lazy("Make it"),
        ),
    )
    def new_secret(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        endpoint = Endpoint.objects.get(pk=object_id)
        at_once = form.cleaned_data["at_once"]
        try:
            secret = endpoint.rotate(at_once=at_once, now=timezone.now())
        except Endpoint.StillSigns:
            text = _("The secret before this one still signs, as was promised: until %(when)s.")
            when = in_zone(endpoint.before_ends_at, endpoint.project.timezone)
            return refused(request, form, text % {"when": when})
        self.record(request, "replaced the secret of", endpoint)
        return call_log.show_secret(request, endpoint, secret)

    @action(
        description=gettext_lazy("Switch off"),
        icon="notifications_off",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Switch it off?"),
            form=FinalDialog,
            text=gettext_lazy(
                "What happens meanwhile is not told later. What waits now is sent if it is "
                "switched on again within three days."
            ),
            button=gettext_lazy("Switch off"),
        ),
    )
    def switch_off(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        endpoint = Endpoint.objects.get(pk=object_id)
        endpoint.disable(Endpoint.Why.BY_HAND, now=timezone.now())
        self.record(request, "disabled", endpoint)
        return close_dialog(request, _("It is switched off."), to=page_url(endpoint))

    @action(
        description=gettext_lazy("Switch on"),
        icon="notifications_active",
        permissions=["change"],
        dialog=ask(gettext_lazy("Switch it on?"), button=gettext_lazy("Switch on")),
    )
    def switch_on(self, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
        endpoint = Endpoint.objects.get(pk=object_id)
        endpoint.enable()
        outbox.notify_workers()
        self.record(request, "enabled", endpoint)
        return close_dialog(request, _("It is switched on."), to=page_url(endpoint))
