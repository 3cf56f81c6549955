"""Who came in, who went, and who was locked out: into the audit trail.

The only listeners there are: log-ins happen in Django and axes, which tell of them in no other way.
"""

from __future__ import annotations

from typing import Any

from axes.signals import user_locked_out
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import receiver

from notifications import audit, origin


@receiver(user_logged_in)
def came_in(user: Any, **_: Any) -> None:
    _note(user, "logged in")


@receiver(user_logged_out)
def went(user: Any, **_: Any) -> None:
    if user is not None:
        _note(user, "logged out")


@receiver(user_locked_out)
def was_locked_out(username: str, **_: Any) -> None:
    audit.record("carillon", "locked out", f"user {username}", project=None)


def _note(user: Any, action: str) -> None:
    if origin.address() is not None:  # a session made by a script is nobody at the door
        name = user.get_username()
        audit.record(f"user:{name}", action, f"user {name}", project=None)
