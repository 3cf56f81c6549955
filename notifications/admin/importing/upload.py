"""Upload of a file by the page's script: begin or continue, send a part, finish, cancel.

Answers are JSON: what comes next, or an `error` in the reader's language.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.core.exceptions import RequestDataTooBig, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from notifications import imports
from notifications.admin.ui.current_project import filter_by_project, named
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import actor, page_url
from notifications.people.importing import upload
from notifications.people.importing.model import Import

# A slow connection sends it within the 30 s that a body may take; proxies accept 1 MB by default.
PART_BYTES = 512 * 1024

View = Callable[..., dict[str, Any]]


def answered(view: View) -> Callable[..., HttpResponse]:
    @require_POST
    @wraps(view)
    def in_json(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        try:
            return JsonResponse(view(request, **kwargs))
        except ValidationError as error:
            return JsonResponse({"error": " ".join(error.messages)}, status=400)
        except Import.InvalidMove as error:
            return JsonResponse({"error": str(error)}, status=409)
        except RequestDataTooBig:
            return JsonResponse({"error": _("This part is too large.")}, status=413)
        except Http404:
            return JsonResponse({"error": _("There is no such upload.")}, status=404)

    return in_json


@answered
def begin(request: HttpRequest) -> dict[str, Any]:
    project = named(request)
    if project is None:
        raise ValidationError(_("Choose a project first."))
    name = request.POST.get("name", "").strip()
    size, by = _size(request), actor(request)
    modified = row_id(request.POST.get("modified")) or 0
    file_import = upload.same_file(project, name=name, size=size, modified=modified, by=by)
    if file_import is None:
        file_import = imports.begin(project, name=name, size=size, by=by)
        upload.remember(file_import, modified=modified, part_bytes=PART_BYTES)
    return _describe_missing(file_import)


def _size(request: HttpRequest) -> int:
    digits = request.POST.get("size", "")
    if digits.isascii() and digits.isdecimal() and len(digits) < 20:
        return int(digits)
    raise ValidationError({"size": _("Give the size of the file as a whole number of bytes.")})


@answered
def part(request: HttpRequest, import_id: int, number: str) -> dict[str, Any]:
    place = row_id(number)
    if place is None:
        raise Http404
    imports.add_part(_find_own_import(request, import_id), place, request.body)
    return {}


@answered
def finish(request: HttpRequest, import_id: int) -> dict[str, Any]:
    """Complete the upload. May be called twice: the first response may have been lost."""
    file_import = _find_own_import(request, import_id)
    if file_import.state == Import.State.UPLOADING:
        imports.complete(file_import)
    return {"url": page_url(file_import)}


@require_POST
def cancel(request: HttpRequest, import_id: int) -> HttpResponse:
    """Cancel the upload. The script reads JSON; the “Start over” form gets a redirect instead."""
    reply = _cancelled(request, import_id=import_id)
    if "text/html" not in request.headers.get("Accept", ""):
        return reply
    if reply.status_code >= 400:
        messages.error(request, _("The upload has ended already."))
    return HttpResponseRedirect(reverse("admin:notifications_import_add"))


@answered
def _cancelled(request: HttpRequest, import_id: int) -> dict[str, Any]:
    file_import = _find_own_import(request, import_id)
    if file_import.state != Import.State.UPLOADING:
        raise Import.InvalidMove(_("The upload has ended already."))
    imports.discard(file_import, by=actor(request))
    return {}


def _find_own_import(request: HttpRequest, import_id: int) -> Import:
    file_import: Import = get_object_or_404(
        filter_by_project(request, Import.objects.all()), pk=import_id
    )
    return file_import


def _describe_missing(file_import: Import) -> dict[str, Any]:
    """What the script must still send. Parts arrive in order, so the file's beginning is there."""
    received = upload.beginning(file_import)
    size = received.part_bytes or PART_BYTES
    return {
        "part_bytes": size,
        "parts": -(-file_import.size // size),
        "next": received.parts,
        "has": received.bytes,
        "part_url": reverse("admin:import_part", args=[file_import.pk, 0]).removesuffix("0/"),
        "finish_url": reverse("admin:import_finish", args=[file_import.pk]),
        "cancel_url": reverse("admin:import_cancel", args=[file_import.pk]),
    }
