"""Messages to one person: their numbers, the newest of them, and the outcome of each."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import site
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from campaigns.engine import messages
from campaigns.results.reason_steps import detail_in_words
from campaigns.results.why.course import reason_in_words
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages import outcome
from campaigns.runs.messages.message import Message, id_of
from campaigns.runs.messages.outcome import Block, Outcome
from campaigns.runs.messages.pages.message_table import (
    STATES,
    find_lines,
    in_a_word,
    newest_to,
    searched,
)
from campaigns.runs.messages.pages.numbers import numbers_of, waits
from campaigns.runs.messages.pages.words import words_of
from campaigns.runs.reasons import Reason, in_words
from campaigns.triggers.automation import Automation
from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.dialogs import DRAWN, FinalDialog, Gone, close_dialog, is_page
from notifications.admin.ui.page import actor
from notifications.people.contact import Contact
from notifications.people.device import Device, shortened
from notifications.people.figures import midnight
from notifications.staff import audit
from notifications.staff.team import Role, role_of

DEVICES = 100
TEXTS = ("title", "body", "image", "link")


def urls() -> list[URLPattern]:
    view, place = site.admin_view, "campaigns/message/"
    return [
        path(place, view(messages_page), name="campaigns_messages"),
        path(f"{place}numbers/", view(numbers), name="campaigns_messages_numbers"),
        path(f"{place}of/<int:contact_id>/", view(of_person), name="person_messages"),
        path(f"{place}<str:name>/", view(message_page), name="campaigns_message_one"),
        path(f"{place}<str:name>/cancel/", view(cancel), name="campaigns_message_cancel"),
    ]


def messages_page(request: HttpRequest) -> HttpResponse:
    context = {**site.each_context(request), "title": _("Messages"), **_numbers(request)}
    if project := current_project(request):
        text, after = searched(request.GET.get("q", "")), _whole(request.GET.get("after", ""), 18)
        lines, last = find_lines(project, text, after)
        query = {"q": text} if text else {}
        context |= {
            "has_demo_phones": project.uses_emulator and _may_send(request),
            "lines": lines,
            "q": text,
            "first_page": after is None,
            "first_url": f"?{urlencode(query)}",
            "older_url": f"?{urlencode({**query, 'after': last})}" if last is not None else "",
            "address": request.build_absolute_uri("/api/v1/messages"),
        }
    return TemplateResponse(request, "admin/campaigns/message/list.html", context)


def _may_send(request: HttpRequest) -> bool:
    role = role_of(request.user)
    return role is not None and role.covers(Role.SENDER)


def numbers(request: HttpRequest) -> HttpResponse:
    """The numbers alone: the table below must not move while someone reads it."""
    return render(request, "admin/campaigns/message/numbers.html", _numbers(request))


def of_person(request: HttpRequest, contact_id: int) -> HttpResponse:
    """A part of the person's page, which must not depend on messages."""
    person = get_object_or_404(Contact.objects.select_related("project"), pk=contact_id)
    lines, last = newest_to(person)
    context = {"lines": lines, "more": last is not None, "person": person}
    context |= {"zone": person.project.timezone}
    return render(request, "admin/notifications/contact/messages.html", context)


def _numbers(request: HttpRequest) -> dict[str, Any]:
    project = current_project(request)
    if project is None:
        return {"zone": "UTC"}
    now = timezone.now()
    counts = numbers_of(project, now)
    context = {"numbers": counts, "waits": waits(counts), "since": midnight(project.timezone, now)}
    return {**context, "zone": project.timezone}


def message_page(request: HttpRequest, name: str) -> HttpResponse:
    message = _message(request, name)
    person = Contact.objects.filter(pk=message.contact_id).first()
    result = outcome.of_call_or_one(message)
    after = _whole(request.GET.get("after", ""), 9) or 0
    rows = outcome.devices_of(message, after=after, most=DEVICES + 1)
    context = {
        **site.each_context(request),
        "title": message.id,
        "message": message,
        "state": result.state,
        "state_in_words": STATES[result.state],
        "came_of_it": in_a_word(result),
        "people": sum(result.people.values()),
        "to_many": _is_to_many(result),
        "unfolding": result.unfolding,
        "call": id_of(message.run_id, message.shares) if message.shares else "",
        "blocked": _block(message, result),
        "person": person,
        "automation": _automation_of(message),
        "texts": _texts(message, person),
        "devices": [_device(row) for row in rows[:DEVICES]],
        "next_url": f"?after={rows[DEVICES - 1]['seq']}" if len(rows) > DEVICES else "",
        "first_page": not after,
        "zone": current_project(request).timezone,  # type: ignore[union-attr]  # the message is its
        "may_cancel": _waits(result) and request.user.has_perm("campaigns.cancel_message"),
    }
    return TemplateResponse(request, "admin/campaigns/message/one.html", context)


def _is_to_many(result: Outcome) -> bool:
    """Whether it goes to several people. A long list has one row until a worker adds the rest."""
    return sum(result.people.values()) > 1 or result.unfolding


def _block(message: Message, result: Outcome) -> Block | None:
    blocks = outcome.blocks({message.run_id}) if outcome.is_late(message, result) else {}
    return blocks.get(message.run_id)


def _automation_of(message: Message) -> Automation | None:
    """The automation that sent the message, if one did."""
    theirs = Automation.objects.filter(triggers__contact_id=message.contact_id)
    of_it = theirs.filter(triggers__run_id=message.run_id, triggers__number=message.number)
    return of_it.first()


def cancel(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for confirmation on GET; cancel on POST."""
    message = _message(request, name)
    page = reverse("admin:campaigns_message_one", args=[message.id])
    if is_page(request):
        return HttpResponseRedirect(page)
    if request.method != "POST":
        return _confirm(request, message)
    if not messages.cancel(message):
        return _too_late(request)
    about = f"message {message.id}"
    audit.record(actor(request), gettext_noop("cancelled"), about, project=current_project(request))
    text = _("What had not left of message %(id)s is cancelled.") % {"id": message.id}
    return close_dialog(request, text, to=page)


def _confirm(request: HttpRequest, message: Message) -> HttpResponse:
    if not _waits(outcome.of_call_or_one(message)):
        return _too_late(request)
    text = _("What has not left yet is not sent. It cannot be undone.")
    dialog = {"title": _("Cancel message %(id)s?") % {"id": message.id}, "description": text}
    context = {"dialog": dialog, "form_submit_text": _("Cancel the message")}
    return render(request, DRAWN, {**context, "form": FinalDialog(request)})  # type: ignore[arg-type]


def _too_late(request: HttpRequest) -> HttpResponse:
    dialog = {"title": _("Not done"), "description": _("It has left already, or is about to.")}
    return render(request, DRAWN, {"form": Gone(request), "dialog": dialog})  # type: ignore[arg-type]


def _message(request: HttpRequest, name: str) -> Message:
    """The message with this name in the chosen project, or 404."""
    project = current_project(request)
    message = outcome.find(project.pk, name) if project else None
    if message is None:
        raise Http404
    return message


def _waits(result: Outcome) -> bool:
    """Whether parts of the message may not have left yet."""
    return result.state in (outcome.WAITING, outcome.SENDING)


def _texts(message: Message, person: Contact | None) -> list[tuple[str, str]]:
    people = {person.pk: person} if person else {}
    text_by_part = words_of([message], people).get((message.run_id, message.number), {})
    words = dict(zip(TEXTS, (_("Title"), _("Text"), _("Picture"), _("Link")), strict=True))
    return [(words[part], text) for part in TEXTS if (text := text_by_part.get(part))]


def _device(row: dict[str, Any]) -> dict[str, Any]:
    """One device with its codes in words."""
    waits = row["status"] == outcome.WAITING
    platform = row["platform"]
    return {
        **row,
        "device": shortened(row["device"]),
        "platform": Device.Platform(platform).label if platform else "",
        "word": _("Waiting") if waits else Delivery.Status(row["status"]).label,
        "why": _why(row) if waits else _end_in_words(row["reason"]),
        "detail": detail_in_words(row["reason"], row["detail"]),
    }


def _why(row: dict[str, Any]) -> str:
    """Why a device still waits: the outcome of the last try, or its person's quiet hours."""
    if row["reason"] == Reason.QUIET_HOURS:
        return _("Until their quiet hours end")
    return reason_in_words(row["reason"])


def _end_in_words(reason: str) -> str:
    """A reason in words. Those for “cancelled” are about runs, so messages have their own."""
    return _("It was cancelled first") if reason == Reason.CANCELLED else in_words(reason)


def _whole(text: str, digits: int) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None
