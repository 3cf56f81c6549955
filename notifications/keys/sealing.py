"""Sealing: encrypts and signs with a key from the environment, for this installation only.

CREDENTIALS_KEY may hold several keys, separated by commas. The first one encrypts; all of them
decrypt. To replace a key, put the new one in front. Remove the old one when nothing is encrypted
with it any more.
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
    """None of our keys decrypts it, or it was encrypted for something else."""


def seal(text: bytes, *, about: str) -> bytes:
    """Encrypt a text. `about` says what it belongs to, and is needed again to decrypt it."""
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
    """Encrypt where there is no room for a nonce; the result is 16 bytes longer. The same secret
    always gives the same result, so use it only for random secrets."""
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
    """Return the keys for signatures: the first one signs, and all of them verify."""
    return _for_signing(settings.CREDENTIALS_KEY)


@lru_cache(maxsize=4)  # the setting may change in a rehearsal or a test
def _for_signing(_: str) -> list[bytes]:
    return [hashlib.sha256(b"sign:" + key).digest() for key in _keys()]


def signature(text: str, *, about: bytes) -> str:
    """Sign a text: HMAC-SHA256, cut to 16 bytes, as 22 letters. With another `about` the signature
    is not valid."""
    return _signature(signing_keys()[0], text, about)


def is_signed(text: str, shown: str, *, about: bytes) -> bool:
    return any(hmac.compare_digest(_signature(key, text, about), shown) for key in signing_keys())


def _signature(key: bytes, text: str, about: bytes) -> str:
    whole = hmac.digest(key, about + text.encode(), "sha256")
    return urlsafe_b64encode(whole[:SIGNATURE])[:-2].decode()


def key_id() -> str:
    """Return a short id of the key that encrypts now. It tells keys apart, but decrypts nothing."""
    return hashlib.sha256(b"id:" + _keys()[0]).hexdigest()[:8]


def _keys() -> list[bytes]:
    whole = settings.CREDENTIALS_KEY
    if not whole:  # an empty text would be a key that anyone knows
        raise ImproperlyConfigured("CARILLON_WITHOUT_KEYS: this process can seal and open nothing.")
    parts = [part.strip() for part in whole.split(",") if part.strip()]
    # The whole text comes last: it may be one key that contains a comma.
    return [hashlib.sha256(text.encode()).digest() for text in dict.fromkeys([*parts, whole])]
