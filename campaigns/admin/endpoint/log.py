"""The log of an endpoint: its last calls, what each was answered, and another try."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _

from notifications.admin.furniture.chosen import within
from notifications.admin.furniture.dialogs import DRAWN, Dialog
from notifications.admin.furniture.page import actor, page_url
from notifications.outgoing import call, kinds, outbox
from notifications.outgoing.call import Call
from notifications.outgoing.endpoint import Endpoint
from notifications.staff import audit
from notifications.values.moments import in_zone

SHOWN = 50
COLOURS = {Call.State.ACCEPTED: "success", Call.State.FAILED: "danger", Call.State.WAITING: "info"}


def shown(endpoint: Endpoint) -> dict[str, Any]:
    """The newest; the API has all."""
    calls = list(Call.objects.filter(endpoint=endpoint).order_by("-pk")[: SHOWN + 1])
    entries = [_entry(one, endpoint.project.timezone) for one in calls[:SHOWN]]
    moves = any(one.state == Call.State.WAITING and one.tries < 2 for one in calls)
    return {"endpoint": endpoint, "entries": entries, "more": len(calls) > SHOWN, "moves": moves}


def _entry(one: Call, zone: str) -> dict[str, Any]:
    waits = one.state == Call.State.WAITING
    return {
        "call": one,
        "kind": kinds.in_words(one.kind),
        "more": len(one.events) - 1,
        "at": in_zone(one.made_at, zone, seconds=True),
        "again_at": in_zone(one.next_at, zone, seconds=True) if waits and one.tries else "",
        "colour": COLOURS[Call.State(one.state)],
    }


def view(request: HttpRequest, object_id: int) -> HttpResponse:
    """Asked for again while something is on its way."""
    endpoint = get_object_or_404(_mine(request), pk=object_id)
    return render(request, "admin/notifications/endpoint/log.html", shown(endpoint))


def replay(request: HttpRequest, object_id: int, call_id: int) -> HttpResponse:
    if request.method != "POST":
        raise PermissionDenied
    endpoint = get_object_or_404(_mine(request), pk=object_id)
    count = call.again(Call.objects.filter(endpoint=endpoint, pk=call_id), now=timezone.now())
    if count:
        audit.record(actor(request), "replayed", endpoint, project=endpoint.project, calls=count)
        outbox.ring()
    return render(request, "admin/notifications/endpoint/log.html", shown(endpoint))


def _mine(request: HttpRequest) -> Any:
    return within(request, Endpoint.objects.select_related("project"))


class MadeDialog(Dialog):
    """Answered here and not after a redirect: no cookie or session ever holds the secret."""

    template = "admin/notifications/endpoint/secret.html"
    endpoint: Endpoint
    secret: str

    @property
    def possible(self) -> bool:
        return False

    def context(self) -> dict[str, Any]:
        return {"secret": self.secret, "page": page_url(self.endpoint)}


def made(request: Any, endpoint: Endpoint, secret: str) -> HttpResponse:
    form = MadeDialog(request)
    form.endpoint, form.secret = endpoint, secret
    return render(request, DRAWN, {"form": form, "dialog": {"title": _("New secret")}})
