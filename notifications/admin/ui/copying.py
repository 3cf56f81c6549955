"""Copying a row: “Duplicate” on the pages of audiences, templates and campaigns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notifications.admin.ui.dialogs import ask, close_dialog
from notifications.admin.ui.page import Page, page_url
from notifications.admin.ui.unfolded import action


def copying(question: str | Promise, text: str | Promise) -> Callable[..., Any]:
    """An action with a dialog. It requires `has_duplicate_permission`."""
    decorated: Callable[..., Any] = action(
        description=gettext_lazy("Duplicate"),
        icon="content_copy",
        permissions=["duplicate"],
        dialog=ask(question, text=text, button=gettext_lazy("Duplicate")),
    )
    return decorated


def copied(page: Page, request: HttpRequest, copy: Model, object_id: str) -> HttpResponse:
    """Record the copy in the audit trail, and redirect to its page."""
    page.record(request, "created", copy, copied_from=int(object_id))
    text = _("“{name}” is a copy. Change what you like.").format(name=copy)
    return close_dialog(request, text, to=page_url(copy))
