"""The log-in's form: what Django says of a wrong password speaks of its “staff accounts”."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext_lazy
from unfold.forms import AuthenticationForm

# As long as one can be; what is longer would not fit into the trail of failed log-ins.
LONGEST = User._meta.get_field("username").max_length or 0


class LogIn(AuthenticationForm):  # type: ignore[misc]
    error_messages: dict[str, Any] = {
        **AuthenticationForm.error_messages,
        "invalid_login": gettext_lazy(
            "Username or password is wrong. Small and capital letters are told apart."
        ),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].validators.append(MaxLengthValidator(LONGEST))
