"""The log-in's form: it counts wrong passwords, and does not speak of “staff accounts”."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext_lazy
from unfold.forms import AuthenticationForm

from notifications.staff.guessing import Kind, Try

# As long as one can be: nothing longer is looked for, or kept.
LONGEST = User._meta.get_field("username").max_length or 0
# To look at a password costs a fifth of a second of a core, on purpose. Guesses from a thousand
# addresses shall not take every thread of the process from those who are in already.
ROOM = BoundedSemaphore(2)
ROOM_SECONDS = 0.1
BUSY = gettext_lazy("Too many people are logging in. Try again in a few seconds.")


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
        with _room():
            return self._judged(name)

    def _judged(self, name: str) -> Any:
        tried = Try(self.request, Kind.PASSWORD, User.objects.filter(username=name).first(), name)
        try:
            cleaned = super().clean()
        except ValidationError:
            tried.was_wrong()
            raise
        self.request.wrong_guesses = tried.was_right()  # for who notes the log-in
        return cleaned


@contextmanager
def _room() -> Iterator[None]:
    if not ROOM.acquire(timeout=ROOM_SECONDS):
        raise ValidationError(BUSY, code="busy")
    try:
        yield
    finally:
        ROOM.release()
