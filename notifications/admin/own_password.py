"""Password change: it needs the old password, and a code if the user has a second factor."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin import site
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.widgets import UnfoldAdminTextInputWidget

from notifications.admin.second_factor import UNREADABLE, WRONG
from notifications.admin.ui.page import actor
from notifications.keys import sealing
from notifications.staff import audit, identity_check, known_browser, second_factor


class OwnPasswordForm(AdminOwnPasswordChangeForm):  # type: ignore[misc]
    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request
        if second_factor.device_of(self.user):
            self.fields["code"] = forms.CharField(
                label=gettext_lazy("A code from your app"),
                max_length=24,
                widget=UnfoldAdminTextInputWidget({"autocomplete": "one-time-code"}),
            )

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        if not identity_check.password_is_right(self.request, old):
            raise forms.ValidationError(
                self.error_messages["password_incorrect"], code="password_incorrect"
            )
        return old

    def clean(self) -> Any:
        cleaned = super().clean()
        if "code" in self.fields and not self.errors:  # it works once: do not waste it
            self._check_code()
        return cleaned

    def _check_code(self) -> None:
        try:
            if identity_check.code_of(self.request, self.cleaned_data["code"]) is None:
                self.add_error("code", str(WRONG))
        except sealing.Unsealable:
            self.add_error("code", str(UNREADABLE))


class OwnPassword(PasswordChangeView):
    form_class = OwnPasswordForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def get_success_url(self) -> str:
        return reverse("admin:password_change_done")

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        audit.record(actor(self.request), "set a password", form.user, project=None)
        known_browser.let_in(self.request, form.user)
        return response


def page(request: Any, extra_context: dict[str, Any] | None = None) -> Any:
    request.current_app = site.name
    context = {**site.each_context(request), **(extra_context or {})}
    return OwnPassword.as_view(extra_context=context)(request)
