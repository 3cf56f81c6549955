"""The pages of a test send. Each page with a text asks with its own, as it stands in the form."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from campaigns import control, tasks
from campaigns.admin.test_send.dialog import Offered, SendTestDialog, SentDialog
from campaigns.runs.variants.group import MAIN
from campaigns.test_sends import telling
from campaigns.test_sends.asking import Refused, Tried
from campaigns.test_sends.sent_test import SentTest
from notifications.admin.furniture.chosen import within
from notifications.admin.furniture.dialogs import DRAWN, Dialog, gone
from notifications.admin.furniture.page import Page, actor
from notifications.people.contact import LONGEST_ID, Contact
from notifications.people.project import Project
from notifications.postgres import budget
from notifications.staff.subjects import Subject
from notifications.task_queue import enqueue_on_commit

SUGGESTED = 10


def urls(page: Page) -> list[URLPattern]:
    return page.guarded_paths(
        [
            ("test/people/", require_GET(people_view), "test_people"),
            ("test/<int:test_id>/", require_GET(shown_view), "test_shown"),
        ]
    )


def dialog(
    request: HttpRequest,
    project: Project | None,
    tried: Callable[[int], Tried],
    *,
    about: Model | Subject,
    offered: Offered,
) -> HttpResponse:
    """Asked on a GET, sent on a POST. `tried` is asked for the text, by the number of its variant,
    and may raise ValidationError."""
    if project is None:
        return gone(request)
    if request.method != "POST":
        return _drawn(request, SendTestDialog(request, project, offered))
    form = SendTestDialog(request, project, offered, data=request.POST)
    if not form.is_valid():
        return _drawn(request, form)
    asked = form.cleaned_data
    try:
        test = control.send_test(
            tried(asked.get("variant", MAIN)),
            asked["people"],
            about=about,
            reads_as=asked["values_of"],
            locale=asked["locale"],
            by=actor(request),
            now=timezone.now(),
        )
    except Refused as error:
        form.add_error(None, str(error))
        return _drawn(request, form)
    except ValidationError as error:
        form.add_error(None, [_("Nothing was sent: the text is not in order."), *error.messages])
        return _drawn(request, form)
    enqueue_on_commit(tasks.send_test, test_id=test.pk)
    return _drawn(request, SentDialog(request, telling.picture(test)))


def _drawn(request: HttpRequest, form: Dialog) -> HttpResponse:
    asks = {"dialog": {"title": _("Send a test")}, "form_submit_text": _("Send the test")}
    return render(request, DRAWN, {"form": form, **asks})


def shown_view(request: HttpRequest, test_id: int) -> HttpResponse:
    """Asked each second until every device has its answer."""
    test = get_object_or_404(within(request, SentTest.objects.all()), pk=test_id)
    context = {"picture": telling.picture(test)}
    return render(request, "admin/campaigns/test/sent.html", context)


def people_view(request: HttpRequest) -> HttpResponse:
    """Who is meant, by the beginning of their id."""
    typed = request.GET.get("test-person") or request.GET.get("test-values_of") or ""
    start = typed.strip()[:LONGEST_ID].replace("\x00", "")
    people = within(request, Contact.objects.all()).filter(external_id__istartswith=start)
    ids: list[tuple[str]] = []
    with suppress(budget.TooSlow), budget.within(seconds=0.5):
        if start:
            ids = list(people.order_by("-pk").values_list("external_id")[:SUGGESTED])
    return HttpResponse(format_html_join("", '<option value="{}">', ids))
