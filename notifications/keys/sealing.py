"""Sealing: what only this installation may read, encrypted with a key from the environment.

CREDENTIALS_KEY may hold several keys, separated by commas: the first seals, all open. So a key is
replaced by putting the new one in front, and the old one goes when nothing is sealed with it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import urlsafe_b64encode
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

NONCE = 12
SIGNATURE = 16  # bytes


class Unsealable(Exception):
    """None of our keys opens it, or it belongs to something else."""


def seal(text: bytes, *, about: str) -> bytes:
    """Encrypt; `about` says whose it is, and must be said again to open it."""
    nonce = os.urandom(NONCE)
    return nonce + AESGCM(_keys()[0]).encrypt(nonce, text, about.encode())


def unseal(sealed: bytes, *, about: str) -> bytes:
    for key in _keys():
        try:
            return AESGCM(key).decrypt(sealed[:NONCE], sealed[NONCE:], about.encode())
        except (InvalidTag, ValueError):  # ValueError: too short to hold anything
            continue
    raise Unsealable


def seal_secret(secret: bytes, *, about: str) -> bytes:
    """Where there is no room for a nonce: 16 bytes longer. The same secret looks the same, so only
    for what is drawn by chance."""
    return AESSIV(_long(_keys()[0])).encrypt(secret, [about.encode()])


def unseal_secret(sealed: bytes, *, about: str) -> bytes:
    for key in _keys():
        try:
            return AESSIV(_long(key)).decrypt(sealed, [about.encode()])
        except (InvalidTag, ValueError):
            continue
    raise Unsealable


def _long(key: bytes) -> bytes:
    return hashlib.sha512(b"siv:" + key).digest()


def signing_keys() -> list[bytes]:
    """For what is signed and hides nothing: the first one signs, and all of them are ours."""
    return _for_signing(settings.CREDENTIALS_KEY)


@lru_cache(maxsize=4)  # a rehearsal's or a test's may change
def _for_signing(_: str) -> list[bytes]:
    return [hashlib.sha256(b"sign:" + key).digest() for key in _keys()]


def signature(text: str, *, about: bytes) -> str:
    """22 letters: HMAC-SHA256, cut to 16 bytes. `about`: what is signed for one thing is of no use
    for another."""
    return _signature(signing_keys()[0], text, about)


def is_signed(text: str, shown: str, *, about: bytes) -> bool:
    return any(hmac.compare_digest(_signature(key, text, about), shown) for key in signing_keys())


def _signature(key: bytes, text: str, about: bytes) -> str:
    whole = hmac.digest(key, about + text.encode(), "sha256")
    return urlsafe_b64encode(whole[:SIGNATURE])[:-2].decode()


def key_id() -> str:
    """Of the key that seals now: enough to tell two apart, and nothing to open anything with."""
    return hashlib.sha256(b"id:" + _keys()[0]).hexdigest()[:8]


def _keys() -> list[bytes]:
    whole = settings.CREDENTIALS_KEY
    if not whole:  # or it would be a key that everybody knows
        raise ImproperlyConfigured("CARILLON_WITHOUT_KEYS: this process can seal and open nothing.")
    parts = [part.strip() for part in whole.split(",") if part.strip()]
    # The whole text last: it may be one key that was chosen with a comma in it.
    return [hashlib.sha256(text.encode()).digest() for text in dict.fromkeys([*parts, whole])]
