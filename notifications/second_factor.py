"""The second factor: a code from an app beside the password, and recovery codes for a lost phone.

Optional for each person. The secret and the counting of wrong codes are django-otp's.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from datetime import timedelta
from typing import Any

import django_otp
import qrcode
import qrcode.image.svg
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

CODES = 10
SIX_DIGITS = re.compile(r"[0-9]{6}", re.ASCII)


class Wait(Exception):
    """Too many wrong codes: how long until the next is looked at."""

    def __init__(self, left: timedelta) -> None:
        super().__init__()
        self.seconds = max(1, round(left.total_seconds()))


def device_of(user: User) -> TOTPDevice | None:
    """The person's app, if it is asked for."""
    return TOTPDevice.objects.filter(user=user, confirmed=True).first()


def begin(user: User) -> TOTPDevice:
    """A new secret, not asked for until `confirm`. The same one while the page is reloaded."""
    device, _ = TOTPDevice.objects.get_or_create(
        user=user, confirmed=False, defaults={"name": "app"}
    )
    return device


def confirm(user: User, code: str) -> list[str] | None:
    """Ask for it from now on; the recovery codes, or None when the app shows another code."""
    device = begin(user)
    if _checked(user, device, code) is None:
        return None
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user, confirmed=True).delete()
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        return renew_codes(user)


def forget(user: User) -> None:
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user).delete()
        StaticDevice.objects.filter(user=user).delete()


def check(user: User, given: str) -> Any:
    """The device that knows this code, or None. A recovery code works once. Raises Wait."""
    text = re.sub(r"[\s-]", "", given).lower()
    if SIX_DIGITS.fullmatch(text):
        device: Any = device_of(user)
    else:
        device = StaticDevice.objects.filter(user=user).first()
        text = _kept(text)
    return _checked(user, device, text) if device else None


def _checked(user: User, device: Any, text: str) -> Any:
    allowed, why = device.verify_is_allowed()
    if not allowed:
        raise Wait((why or {}).get("locked_until", timezone.now()) - timezone.now())
    return django_otp.verify_token(user, device.persistent_id, text)


# --- Recovery codes -----------------------------------------------------------------------------


def renew_codes(user: User) -> list[str]:
    """Ten new ones, shown this once; the old ones work no longer."""
    codes = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(CODES)]
    with transaction.atomic():
        StaticDevice.objects.filter(user=user).delete()
        device = StaticDevice.objects.create(user=user, name="recovery codes")
        StaticToken.objects.bulk_create(
            StaticToken(device=device, token=_kept(code)) for code in codes
        )
    return ["-".join(code[start : start + 4] for start in range(0, 16, 4)) for code in codes]


def codes_left(user: User) -> int:
    return int(StaticToken.objects.filter(device__user=user).count())


def _kept(code: str) -> str:
    """What the database holds of a code: 64 bits of a hash are enough of 80 random ones."""
    return hashlib.sha256(code.encode()).hexdigest()[:16]


# --- For the app --------------------------------------------------------------------------------


def secret_in_words(device: TOTPDevice) -> str:
    """For who cannot scan: four letters at a time."""
    text = base64.b32encode(device.bin_key).decode().rstrip("=")
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def picture(device: TOTPDevice) -> SafeString:
    """The QR code as SVG, drawn here: the secret is sent to nobody."""
    image = qrcode.make(device.config_url, image_factory=qrcode.image.svg.SvgPathFillImage)
    drawn: str = image.to_string(encoding="unicode")
    return mark_safe(drawn)  # made of numbers by qrcode, nothing in it is anybody's text
