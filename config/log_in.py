"""The log-in's form: what Django says of a wrong password speaks of its “staff accounts”."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy
from unfold.forms import AuthenticationForm


class LogIn(AuthenticationForm):  # type: ignore[misc]
    error_messages: dict[str, Any] = {
        **AuthenticationForm.error_messages,
        "invalid_login": gettext_lazy(
            "Username or password is wrong. Small and capital letters are told apart."
        ),
    }
