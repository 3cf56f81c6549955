"""Storage and address of uploaded images, checked before anything starts."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from typing import Any

from django.core.exceptions import ImproperlyConfigured

ON_DISK = "django.core.files.storage.FileSystemStorage"
# The address of a CDN: a host, perhaps a port and a path.
FORM = re.compile(r"https://[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?(?::[0-9]{1,5})?(?:/[\w.~-]+)*/?",
                  re.ASCII)  # fmt: skip


def image_storage(backend: str, options: str, *, folder: str) -> dict[str, Any]:
    """An entry of Django's STORAGES."""
    if not backend:
        # A file's name depends on its content, so writing it twice changes nothing.
        return {"BACKEND": ON_DISK, "OPTIONS": {"location": folder, "allow_overwrite": True}}
    package = backend.partition(".")[0]
    if find_spec(package) is None:
        raise ImproperlyConfigured(
            f"IMAGES_STORAGE is {backend}, and there is no package “{package}” here. For S3 and "
            "what speaks like it, install django-storages[s3] (docs/operating.md, Images)."
        )
    return {"BACKEND": backend, "OPTIONS": _parse_options(options)}


def _parse_options(options: str) -> dict[str, Any]:
    try:
        parsed = json.loads(options or "{}")
    except ValueError as error:  # without the value: it may hold a key
        raise ImproperlyConfigured("IMAGES_STORAGE_OPTIONS is not JSON.") from error
    if not isinstance(parsed, dict):
        raise ImproperlyConfigured("IMAGES_STORAGE_OPTIONS must be an object, {…}.")
    return parsed


def images_address(given: str, *, ours: str) -> str:
    """The address without a slash at its end; our own /i unless another is set."""
    if not given:
        return f"https://{ours.partition('//')[2]}/i" if ours else ""
    if not FORM.fullmatch(given):
        raise ImproperlyConfigured(
            "IMAGES_URL must be an https:// address such as https://cdn.example.com/push, without "
            "a query or a user: FCM takes no other, and phones fetch images from it."
        )
    return given.rstrip("/")
