"""Proof: a logged-in person confirms their identity by password or code. Guesses are counted."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from notifications.staff import password_slots, second_factor
from notifications.staff.login_throttle import Attempt, Kind


def password_is_right(request: HttpRequest, given: str) -> bool:
    """Check the password. Raises LockedOut, or ValidationError if too many are being checked."""
    user: Any = request.user
    with password_slots.hold_slot():
        tried = Attempt(request, Kind.PASSWORD, user)
        return _record_attempt(tried, user.check_password(given))


def code_of(request: HttpRequest, given: str) -> Any:
    """Return the device that accepts this code, or None. Raises LockedOut, sealing.Unsealable."""
    user: Any = request.user
    tried = Attempt(request, Kind.CODE, user)
    device = second_factor.check(user, given)
    _record_attempt(tried, device is not None)
    return device


def confirm_factor(request: HttpRequest, given: str) -> list[str] | None:
    """Confirm the app if it shows this code. Returns recovery codes, or None. Raises LockedOut."""
    user: Any = request.user
    tried = Attempt(request, Kind.CODE, user)
    codes = second_factor.confirm(user, given)
    _record_attempt(tried, codes is not None)
    return codes


def _record_attempt(tried: Attempt, is_right: bool) -> bool:
    if is_right:
        tried.record_success()
    else:
        tried.record_failure()
    return is_right
