"""The log-in form: it counts wrong passwords, and does not speak of “staff accounts”."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext_lazy
from unfold.forms import AuthenticationForm

from notifications.staff import password_slots
from notifications.staff.login_throttle import Attempt, Kind

# The longest possible user name: nothing longer is looked up, or stored.
LONGEST = User._meta.get_field("username").max_length or 0


class LogIn(AuthenticationForm):  # type: ignore[misc]
    error_messages: dict[str, Any] = {
        **AuthenticationForm.error_messages,
        "invalid_login": gettext_lazy(
            "Username or password is wrong. Upper and lower case matter."
        ),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].validators.append(MaxLengthValidator(LONGEST))

    def clean(self) -> Any:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not (name and password):
            return super().clean()
        with password_slots.hold_slot():
            return self._check_password(name)

    def _check_password(self, name: str) -> Any:
        attempt = Attempt(
            self.request, Kind.PASSWORD, User.objects.filter(username=name).first(), name
        )
        try:
            cleaned = super().clean()
        except ValidationError:
            attempt.record_failure()
            raise
        self.request.wrong_guesses = attempt.record_success()  # for the code that notes the log-in
        return cleaned
