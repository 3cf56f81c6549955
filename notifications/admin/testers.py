"""List actions that mark several people as testers, or unmark them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.page import Page, actor
from notifications.people.contact import Contact
from notifications.staff import audit
from notifications.staff.subjects import Subject

EVERYBODY = Subject("contact")


@admin.action(description=_("Mark as testers"), permissions=["change"])
def mark(page: Page, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    count = _set(page, request, queryset, tester=True)
    text = ngettext("%(count)s person is a tester now.", "%(count)s people are testers now.", count)
    messages.success(request, text % {"count": f"{count:,}"})


@admin.action(description=_("No longer testers"), permissions=["change"])
def unmark(page: Page, request: HttpRequest, queryset: QuerySet[Any]) -> None:
    count = _set(page, request, queryset, tester=False)
    text = ngettext(
        "%(count)s person is no tester any more.",
        "%(count)s people are no testers any more.",
        count,
    )
    messages.success(request, text % {"count": f"{count:,}"})


def _set(page: Page, request: HttpRequest, queryset: QuerySet[Any], *, tester: bool) -> int:
    """Update those whose mark differs, locked in the registry's order; one audit entry for all."""
    ids = list(queryset.values_list("pk", flat=True))
    with transaction.atomic():
        differing = Contact.objects.filter(pk__in=ids, tester=not tester)
        locked = differing.order_by("external_id").select_for_update(no_key=True)
        ids_to_change = [row.pk for row in locked.only("pk")]
        Contact.objects.filter(pk__in=ids_to_change).update(
            tester=tester, updated_at=timezone.now()
        )
        if ids_to_change:
            action = "marked as testers" if tester else "took off the testers"
            audit.record(
                actor(request),
                action,
                EVERYBODY,
                project=current_project(request),
                people=len(ids_to_change),
            )
    return len(ids_to_change)
