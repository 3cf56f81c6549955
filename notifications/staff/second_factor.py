"""Second factor: a code from an app in addition to the password, and recovery codes.

It is optional for each person. django-otp has the tables and the arithmetic; `login_throttle.py`
counts wrong codes. The app's secret is encrypted: a copy of the database alone shows no codes.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import time
from typing import Any

import qrcode
import qrcode.image.svg
from django.contrib.auth.models import User
from django.db import transaction
from django.utils.safestring import SafeString, mark_safe
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from notifications.keys import sealing

CODES = 10
SIX_DIGITS = re.compile(r"[0-9]{6}", re.ASCII)
SECRET = 20  # bytes


def device_of(user: User) -> TOTPDevice | None:
    """Return the person's app if it is set up, else None."""
    return TOTPDevice.objects.filter(user=user, confirmed=True).first()


def has_any(user: User) -> bool:
    """Whether the person has an app, even one whose set-up is not finished."""
    return bool(TOTPDevice.objects.filter(user=user).exists())


def begin(user: User) -> TOTPDevice:
    """Create an app with a new secret, which is not required until `confirm`. If the page is
    reloaded, it stays the same."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two clicks: one after another
        unfinished = TOTPDevice.objects.filter(user=user, confirmed=False)
        device = next((each for each in unfinished.order_by("-pk") if _opens(each)), None)
        if device is None:
            sealed = _seal_secret(secrets.token_bytes(SECRET), user)
            device = TOTPDevice.objects.create(user=user, confirmed=False, name="app", key=sealed)
        unfinished.exclude(pk=device.pk).delete()
    return device


def confirm(user: User, code: str) -> list[str] | None:
    """Require the app from now on. Returns the recovery codes, or None if the code is wrong."""
    device = begin(user)
    with transaction.atomic():
        if not _shows(device, code):
            return None
        TOTPDevice.objects.filter(user=user, confirmed=True).delete()
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        return renew_codes(user)


def forget(user: User) -> None:
    with transaction.atomic():
        TOTPDevice.objects.filter(user=user).delete()
        StaticDevice.objects.filter(user=user).delete()


def check(user: User, given: str) -> Any:
    """Return the device that accepts this code, or None. A code works once. Raises
    sealing.Unsealable."""
    text = re.sub(r"[\s-]", "", given).lower()
    if not SIX_DIGITS.fullmatch(text):
        used, _ = StaticToken.objects.filter(device__user=user, token=_stored_hash(text)).delete()
        return StaticDevice.objects.filter(user=user).first() if used else None
    device = device_of(user)
    return device if device and _shows(device, text) else None


def _shows(device: TOTPDevice, code: str) -> bool:
    """Whether the app shows this code now. If so, this code and earlier ones are used up."""
    with transaction.atomic():
        row: Any = TOTPDevice.objects.select_for_update().filter(pk=device.pk).first()
        if row is None or not SIX_DIGITS.fullmatch(code):
            return False
        secret = secret_of(row)
        app = TOTP(secret, row.step, row.t0, row.digits, row.drift)
        app.time = time.time()
        if not app.verify(int(code), row.tolerance, row.last_t + 1):
            return False
        row.last_t, row.drift, row.key = app.t(), app.drift, _seal_secret(secret, row.user)
        row.set_last_used_timestamp(commit=False)
        row.save()
    return True


def secret_of(device: TOTPDevice) -> bytes:
    """Return the app's decrypted secret. Raises sealing.Unsealable."""
    return sealing.unseal_secret(bytes.fromhex(device.key), about=_seal_purpose(device.user))


def _opens(device: TOTPDevice) -> bool:
    try:
        secret_of(device)
    except sealing.Unsealable:
        return False
    return True


def seal_anew() -> tuple[int, list[str]]:
    """Encrypt every app's secret with today's key. Returns how many were changed, and the users
    whose secret none of our keys decrypts.

    An unfinished set-up that no key decrypts is deleted: `begin` makes another.
    """
    count, lost = 0, list[str]()
    for pk in list(TOTPDevice.objects.order_by("pk").values_list("pk", flat=True)):
        with transaction.atomic():
            device = TOTPDevice.objects.select_for_update(of=("self",)).filter(pk=pk)
            row: Any = device.select_related("user").first()
            if row is None:  # deleted meanwhile
                continue
            try:
                sealed = _seal_secret(secret_of(row), row.user)
            except sealing.Unsealable:
                if row.confirmed:
                    lost.append(row.user.get_username())
                else:
                    row.delete()
                continue
            count += device.exclude(key=sealed).update(key=sealed)
    return count, lost


def _seal_secret(secret: bytes, user: User) -> str:
    return sealing.seal_secret(secret, about=_seal_purpose(user)).hex()


def _seal_purpose(user: User) -> str:
    return f"second factor of user {user.pk}"


# --- Recovery codes -----------------------------------------------------------------------------


def renew_codes(user: User) -> list[str]:
    """Create ten new codes, which are shown only once. The old ones stop working."""
    codes = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(CODES)]
    with transaction.atomic():
        StaticDevice.objects.filter(user=user).delete()
        device = StaticDevice.objects.create(user=user, name="recovery codes")
        StaticToken.objects.bulk_create(
            StaticToken(device=device, token=_stored_hash(code)) for code in codes
        )
    return ["-".join(code[start : start + 4] for start in range(0, 16, 4)) for code in codes]


def codes_left(user: User) -> int:
    return int(StaticToken.objects.filter(device__user=user).count())


def _stored_hash(code: str) -> str:
    """Return what the database stores of a code. For 80 random bits, 64 bits of a hash suffice."""
    return hashlib.sha256(code.encode()).hexdigest()[:16]


# --- For the app --------------------------------------------------------------------------------


def secret_in_words(device: TOTPDevice) -> str:
    """Return the secret in groups of four letters, for people who cannot scan the QR code."""
    text = base64.b32encode(secret_of(device)).decode().rstrip("=")
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def picture(device: TOTPDevice) -> SafeString:
    """Draw the QR code as SVG. It is drawn here, so the secret is sent to no one."""
    plain = TOTPDevice(user=device.user, key=secret_of(device).hex())  # never saved
    image = qrcode.make(plain.config_url, image_factory=qrcode.image.svg.SvgPathFillImage)
    drawn: str = image.to_string(encoding="unicode")
    return mark_safe(drawn)  # qrcode draws it from numbers; it contains no text from users
