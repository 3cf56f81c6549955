"""Service accounts: checked when they are given, encrypted at rest, opened to send.

The key that opens them lives in the environment, not in the database; see `sealing`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models, transaction

from notifications import sealing
from notifications.gateway import BadCredentials
from notifications.project import Project

MAX_TEXT = 10_000
MAX_BYTES = 64 * 1024  # a service account has 2.4 kB
REQUIRED = ("project_id", "client_email", "private_key", "private_key_id", "token_uri")
GET_ONE = (
    "Firebase console → Project settings → Service accounts → Generate new private key."
)  # fmt: skip


class ServiceAccount(models.Model):
    """With whose key does this project speak to FCM?"""

    project = models.OneToOneField(
        Project, on_delete=models.CASCADE, related_name="service_account"
    )
    client_email = models.TextField()
    sealed = models.BinaryField(editable=False)
    sealed_with = models.CharField(max_length=8, editable=False, help_text="Id of the sealing key.")
    stored_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.client_email

    @classmethod
    def store(cls, project: Project, info: Mapping[str, Any]) -> ServiceAccount:
        """Check and encrypt a service account's JSON. Replaces the project's earlier one."""
        check(info, project)
        account, _ = cls.objects.update_or_create(
            project=project,
            defaults={
                "client_email": info["client_email"],
                "sealed": _seal(info, project.pk),
                "sealed_with": sealing.key_id(),
            },
        )
        return account

    def open(self) -> dict[str, Any]:
        """The JSON as it was given. One that an older key sealed is sealed anew with today's."""
        try:
            text = sealing.unseal(bytes(self.sealed), about=str(self.project_id))
        except sealing.Unsealable:
            raise BadCredentials(
                "The service account was encrypted with another CREDENTIALS_KEY "
                f"(id {self.sealed_with}, ours is {sealing.key_id()}). "
                "Add that key behind ours, after a comma, or upload the account again."
            ) from None
        info = dict(json.loads(text))
        if self.sealed_with != sealing.key_id():
            self._seal_anew(info)
        return info

    def _seal_anew(self, info: Mapping[str, Any]) -> None:
        # Guarded: an account stored in the meantime stays. Not save(): `stored_at` tells the
        # gateways of another key, and this is the same one.
        values: dict[str, Any] = {
            "sealed": _seal(info, self.project_id),
            "sealed_with": sealing.key_id(),
        }
        mine = ServiceAccount.objects.filter(pk=self.pk, sealed=self.sealed)
        if mine.update(**values):
            self.sealed, self.sealed_with = values["sealed"], values["sealed_with"]


def use(project: Project, info: Mapping[str, Any]) -> ServiceAccount:
    """Store it and send with it from now on, to where it is good for: Google, or the emulator."""
    with transaction.atomic():
        account = ServiceAccount.store(project, info)
        project.uses_emulator = info["token_uri"] != settings.GOOGLE_TOKEN_URI
        project.uses_default_credentials = False
        project.save(update_fields=["uses_emulator", "uses_default_credentials"])
    return account


def _seal(info: Mapping[str, Any], project_id: int) -> bytes:
    return sealing.seal(json.dumps(dict(info)).encode(), about=str(project_id))


def read(text: str | bytes) -> dict[str, Any]:
    """A service account's file as JSON. Its content never becomes part of an error."""
    if len(text) > MAX_BYTES:
        raise ValidationError("Far too large for a service account's JSON.")
    try:
        info = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ValidationError(
            f"Is not JSON, or only a part of it (it ends or breaks{place}). "
            f"Give the whole file, from {{ to }}. A new one: {GET_ONE}"
        ) from None
    if not isinstance(info, dict):
        raise ValidationError(f"Is not a service account's JSON: not an object. {GET_ONE}")
    return info


def check(info: Mapping[str, Any], project: Project) -> None:
    """Refuse a file that cannot work, naming the field and the fix."""
    _check_kind(info)
    if odd := [name for name in REQUIRED if name in info and not isinstance(info[name], str)]:
        raise ValidationError(f"{', '.join(odd)} must be texts. {GET_ONE}")
    if missing := [name for name in REQUIRED if not 0 < len(info.get(name, "")) <= MAX_TEXT]:
        raise ValidationError(
            f"Not a whole service account's JSON: {', '.join(missing)} missing. {GET_ONE}"
        )
    if "@" not in info["client_email"] or not info["client_email"].isprintable():
        raise ValidationError(f"client_email: is not an account's address. {GET_ONE}")
    if info["project_id"] != project.firebase_project_id:
        raise ValidationError(
            f"project_id: this key belongs to “{info['project_id'][:100]}”, the project sends as "
            f"“{project.firebase_project_id}”. Give that project's key, or correct the project's "
            "Firebase project ID first."
        )
    # The key is sent wherever token_uri points: only ever to Google or to our own stand-in.
    allowed = {settings.GOOGLE_TOKEN_URI, settings.FCM_TOKEN_URI}
    if info["token_uri"] not in allowed:
        raise ValidationError(
            f"token_uri: must be {' or '.join(sorted(allowed))}, not “{info['token_uri'][:100]}”. "
            f"Download the file again instead of correcting it. {GET_ONE}"
        )
    _check_private_key(info["private_key"])


def _check_kind(info: Mapping[str, Any]) -> None:
    if "project_info" in info or "client" in info:
        raise ValidationError(
            f"This is google-services.json, the app's own configuration. Needed is a key: {GET_ONE}"
        )
    kind = info.get("type", "service_account")
    if kind != "service_account":
        raise ValidationError(f"type: must be “service_account”, not “{str(kind)[:50]}”. {GET_ONE}")


def _check_private_key(pem: str) -> None:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValidationError(
            "private_key: is not a key we can read; was it cut short, or its line ends lost? "
            f"Give the file as it was downloaded. {GET_ONE}"
        ) from None
    if not isinstance(key, RSAPrivateKey):
        raise ValidationError(f"private_key: must be an RSA key. {GET_ONE}")
