"""Endpoint log: its last calls with their responses, and the action to send one again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _

from notifications.admin.ui.current_project import filter_by_project
from notifications.admin.ui.dialogs import DRAWN, Dialog
from notifications.admin.ui.page import actor, page_url
from notifications.staff import audit
from notifications.values.moments import in_zone
from notifications.webhooks import call, event_types, outbox
from notifications.webhooks.call import Call
from notifications.webhooks.claiming import FAILS
from notifications.webhooks.endpoint import Endpoint

SHOWN = 50
FRESH = timedelta(minutes=1)
COLOURS = {Call.State.ACCEPTED: "success", Call.State.FAILED: "danger", Call.State.WAITING: "info"}


def log_context(endpoint: Endpoint) -> dict[str, Any]:
    """Template context: the newest calls. The API has all."""
    of_it = Call.objects.filter(endpoint=endpoint).select_related("endpoint__project")
    calls = list(of_it.order_by("-pk")[: SHOWN + 1])
    waits = any(entry.state == Call.State.WAITING for entry in calls)
    first = call.first_waiting(endpoint) if waits else None
    return {
        "endpoint": endpoint,
        "entries": [_entry(entry, _until(entry, endpoint, first)) for entry in calls[:SHOWN]],
        "more": len(calls) > SHOWN,
        "again_in": _again_in(calls),
    }


def _entry(logged: Call, until: str) -> dict[str, Any]:
    return {
        "call": logged,
        "kind": event_types.in_words(logged.kind),
        "more": len(logged.events) - 1,
        "at": in_zone(logged.made_at, logged.endpoint.project.timezone, seconds=True),
        "until": until,
        "colour": COLOURS[Call.State(logged.state)],
    }


def _until(entry_call: Call, endpoint: Endpoint, first: Call | None) -> str:
    """What a call waits for; empty if it is due now. A test waits for no other call."""
    if entry_call.state != Call.State.WAITING:
        return ""
    if endpoint.disabled_at and not entry_call.is_test:
        return _("sent when the endpoint is switched on")
    if endpoint.failures >= FAILS and entry_call != first and not entry_call.is_test:
        return _("sent when the endpoint takes another one")
    at = entry_call.next_at if entry_call.is_test else _due_at(entry_call, endpoint)
    if at <= timezone.now():
        return ""
    text = _("tried again at %(when)s") if entry_call.tries else _("tried at %(when)s")
    return text % {"when": in_zone(at, endpoint.project.timezone, seconds=True)}


def _due_at(logged: Call, endpoint: Endpoint) -> datetime:
    """When a call is due: not before the endpoint's pause has ended."""
    return max(logged.next_at, endpoint.rests_until or logged.next_at)


def _again_in(calls: list[Call]) -> int:
    """In how many seconds the page requests the log again. 0: never."""
    waiting = [logged for logged in calls if logged.state == Call.State.WAITING]
    fresh = any(logged.made_at > timezone.now() - FRESH for logged in waiting)
    return 2 if fresh else 15 if waiting else 0


def view(request: HttpRequest, object_id: int) -> HttpResponse:
    """The log, which the page requests again while calls are waiting."""
    endpoint = get_object_or_404(_mine(request), pk=object_id)
    return render(request, "admin/notifications/endpoint/log.html", log_context(endpoint))


def replay(request: HttpRequest, object_id: int, call_id: int) -> HttpResponse:
    if request.method != "POST":
        raise PermissionDenied
    endpoint = get_object_or_404(_mine(request), pk=object_id)
    count = call.again(Call.objects.filter(endpoint=endpoint, pk=call_id), now=timezone.now())
    if count:
        audit.record(actor(request), "replayed", endpoint, project=endpoint.project, calls=count)
        outbox.notify_workers()
    return render(request, "admin/notifications/endpoint/log.html", log_context(endpoint))


def _mine(request: HttpRequest) -> Any:
    return filter_by_project(request, Endpoint.objects.select_related("project"))


class MadeDialog(Dialog):
    """Shows the new secret without a redirect, so that no cookie or session ever holds it."""

    template = "admin/notifications/endpoint/secret.html"
    endpoint: Endpoint
    secret: str

    @property
    def possible(self) -> bool:
        return False

    def context(self) -> dict[str, Any]:
        return {"secret": self.secret, "page": page_url(self.endpoint)}


def show_secret(request: Any, endpoint: Endpoint, secret: str) -> HttpResponse:
    form = MadeDialog(request)
    form.endpoint, form.secret = endpoint, secret
    return render(request, DRAWN, {"form": form, "dialog": {"title": _("New secret")}})
