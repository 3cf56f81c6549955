"""Demo pages: the page with the demo phones, and their requests besides the client API."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from django.contrib.admin import site
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from campaigns.demo.phones import (
    LONGEST,
    QUIET_SECONDS,
    ROOM,
    token_for,
    write,
)
from campaigns.demo.rings import EmulatorUnavailable, fetch_pushes
from campaigns.test_sends.demo_phones import PHONES, Phone, can_ring
from notifications.admin.ui.current_project import current_project
from notifications.gateway import WrongKey
from notifications.people.project import Project

Answer = Callable[[HttpRequest, Project, Phone], HttpResponse]
SILENT = gettext_lazy("The emulator does not answer.")
EMPTY = gettext_lazy("Write something first.")


def urls() -> list[URLPattern]:
    place = "demo/phone/"
    return [
        path(place, site.admin_view(require_GET(phones_page)), name="demo_phones"),
        path(f"{place}<str:name>/on/", _of_one(require_POST, turned_on), name="demo_phone_on"),
        path(f"{place}<str:name>/rings/", _of_one(require_GET, rings), name="demo_phone_rings"),
        path(f"{place}<str:name>/write/", _of_one(require_POST, written), name="demo_phone_write"),
    ]


def phones_page(request: HttpRequest) -> HttpResponse:
    only = PHONES.get(request.GET.get("only", ""))
    context = {
        **site.each_context(request),
        "title": _("Demo phones"),
        "phones": [only] if only else list(PHONES.values()),
        "only": only,
        "can_ring": can_ring(current_project(request)),
        "project": current_project(request),
        "room": ROOM,
        "quiet": QUIET_SECONDS,
        "longest": LONGEST,
        "now": repr(time.time()),
    }
    return TemplateResponse(request, "admin/campaigns/demo/phones.html", context)


def _of_one(method: Callable[..., Answer], answer: Answer) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, name: str) -> HttpResponse:
        project, phone = current_project(request), PHONES.get(name)
        if project is None or phone is None or not can_ring(project):
            raise Http404
        return answered(request, project, phone)

    answered = method(answer)
    return site.admin_view(view)


def turned_on(request: HttpRequest, project: Project, phone: Phone) -> HttpResponse:
    """Return the token and address with which the phone's app registers."""
    try:
        return JsonResponse({"token": token_for(project, phone), "address": phone.address})
    except WrongKey as error:
        return JsonResponse({"problem": str(error)}, status=409)


def rings(request: HttpRequest, project: Project, phone: Phone) -> HttpResponse:
    try:
        after = float(request.GET.get("after", ""))
    except ValueError:
        after = math.inf
    try:
        return JsonResponse({"rings": fetch_pushes(project, phone, after=after)})
    except EmulatorUnavailable:
        return JsonResponse({"problem": str(SILENT)}, status=503)


def written(request: HttpRequest, project: Project, phone: Phone) -> HttpResponse:
    words = request.POST.get("words", "").replace("\0", "").strip()
    if not words:
        return JsonResponse({"problem": str(EMPTY)}, status=400)
    if len(words) > LONGEST:
        text = _("At most %(most)s characters.") % {"most": LONGEST}
        return JsonResponse({"problem": text}, status=400)
    return JsonResponse({"id": write(project, phone, words)})
