"""Dialogs: each change of a row asks for confirmation, and never happens on a GET.

Unfold shows the form on GET and calls the action on a valid POST. This module adds what it lacks: a
title and a context that depend on the row, refusals shown inside, and the redirect afterwards.
"""

from __future__ import annotations

from typing import Any

from django.contrib.messages import success
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from notifications.admin.ui.unfolded import BaseDialogForm

DRAWN = "unfold/helpers/dialog.html"


class Dialog(BaseDialogForm):
    """A confirmation form, with everything the user needs to decide."""

    template: str | None = None
    wide = False
    includes = ""  # a selector of forms on the page that are posted along with it

    @property
    def title(self) -> str | None:
        return None

    @property
    def danger(self) -> bool:
        return False

    @property
    def button(self) -> str:
        """The button's text, if it differs from the action's own."""
        return ""

    @property
    def possible(self) -> bool:
        """Whether it can be done now. False hides the button, and the text says why."""
        return True

    def context(self) -> dict[str, Any]:
        return {}

    def render_before_template(self) -> SafeString:
        if self.template is None:
            return SafeString("")
        return render_to_string(self.template, {"form": self, **self.context()}, self.request)


class FinalDialog(Dialog):
    """A dialog for what cannot be undone; it looks dangerous."""

    @property
    def danger(self) -> bool:
        return True


class Gone(Dialog):
    """A dialog that says that the row no longer exists."""

    @property
    def possible(self) -> bool:
        return False


def ask(
    title: str | Promise,
    *,
    form: type[Dialog] = Dialog,
    button: str | Promise,
    text: str | Promise = "",
    danger: bool = False,
) -> dict[str, Any]:
    """Build the value of `@action(dialog=…)`."""
    options = {"title": title, "description": text, "form_class": form, "form_submit_text": button}
    return {**options, "danger": danger}


def is_page(request: HttpRequest) -> bool:
    """Whether a browser would show the reply as a whole page: a dialog is only a part of one."""
    return request.method == "GET" and request.headers.get("Sec-Fetch-Dest") == "document"


def close_dialog(request: HttpRequest, message: str, *, to: str) -> HttpResponse:
    success(request, message)
    return HttpResponseClientRedirect(to)


def refused(request: HttpRequest, form: Dialog, why: str) -> HttpResponse:
    """Stay in the dialog and say why; nothing was changed."""
    form.add_error(None, why)
    return render(request, DRAWN, {"form": form, "dialog": {"title": _("Not done")}})


def gone(request: Any) -> HttpResponse:
    """Answer for a row that no longer exists. A dialog says so, as htmx would not show a 404."""
    if not request.htmx:
        raise Http404
    dialog = {
        "title": _("No longer there"),
        "description": _("It has been deleted in the meantime."),
    }
    return render(request, DRAWN, {"form": Gone(request), "dialog": dialog})
