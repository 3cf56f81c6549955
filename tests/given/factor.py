"""A second factor that somebody has, and the app that shows its codes."""

from __future__ import annotations

from django.contrib.auth.models import User
from django_otp.oath import totp

from notifications.staff import second_factor


def code_of(user: User, *, later: int = 0) -> str:
    """What the app shows; `later` steps from now, for each code is taken once."""
    device = second_factor.device_of(user) or second_factor.begin(user)
    return f"{totp(second_factor.secret_of(device), t0=int(-30 * later)):06d}"


def with_factor(user: User) -> list[str]:
    """Set up and confirmed; their recovery codes."""
    codes = second_factor.confirm(user, code_of(user))
    assert codes is not None
    return codes
