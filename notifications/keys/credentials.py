"""Service accounts: checked when they are uploaded, encrypted at rest, decrypted to send.

The encryption key is in the environment, not in the database; see `sealing`.
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
from django.utils.translation import gettext, gettext_lazy

from notifications.gateway import WrongKey
from notifications.keys import sealing
from notifications.people.project import Project

MAX_TEXT = 10_000
MAX_BYTES = 64 * 1024  # a service account has 2.4 kB
UNIVERSE = "googleapis.com"
REQUIRED = ("project_id", "client_email", "private_key", "private_key_id", "token_uri")
GET_ONE = gettext_lazy(
    "Firebase console → Project settings → Service accounts → Generate new private key."
)


class ServiceAccount(models.Model):
    """The Google service account with whose key a project sends to FCM."""

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
        """Return the JSON as it was uploaded. If an older key encrypted it, encrypt it again with
        today's."""
        try:
            text = sealing.unseal(bytes(self.sealed), about=str(self.project_id))
        except sealing.Unsealable:
            raise WrongKey(
                "The service account was encrypted with another CREDENTIALS_KEY "
                f"(id {self.sealed_with}, ours is {sealing.key_id()}). "
                "Add that key behind ours, after a comma, or upload the account again."
            ) from None
        info = dict(json.loads(text))
        if self.sealed_with != sealing.key_id():
            self._seal_anew(info)
        return info

    def opens(self) -> bool:
        """Whether one of our keys decrypts it. The content is not used."""
        try:
            sealing.unseal(bytes(self.sealed), about=str(self.project_id))
        except sealing.Unsealable:
            return False
        return True

    def _seal_anew(self, info: Mapping[str, Any]) -> None:
        # The filter keeps an account that was stored in the meantime. Not save(): a new `stored_at`
        # tells gateways that there is another key, but this is the same one.
        values: dict[str, Any] = {
            "sealed": _seal(info, self.project_id),
            "sealed_with": sealing.key_id(),
        }
        mine = ServiceAccount.objects.filter(pk=self.pk, sealed=self.sealed)
        if mine.update(**values):
            self.sealed, self.sealed_with = values["sealed"], values["sealed_with"]


def lacking(project: Project) -> str:
    """Say what to do if the project has no key to send with. Empty: it has one."""
    if project.uses_default_credentials or hasattr(project, "service_account"):
        return ""
    text = gettext(
        "The project “%(project)s” has no key, and its runs pause at once. Set one first: "
        "Projects → %(project)s → Set credentials."
    )
    return text % {"project": project}


def is_googles(info: Mapping[str, Any]) -> bool:
    """Whether the account is for Google, and not for the emulator."""
    return bool(info["token_uri"] == settings.GOOGLE_TOKEN_URI)


def use(project: Project, info: Mapping[str, Any]) -> ServiceAccount:
    """Store an account and send with it from now on, to Google or to the emulator, as it names."""
    with transaction.atomic():
        account = ServiceAccount.store(project, info)
        project.uses_emulator = not is_googles(info)
        project.uses_default_credentials = False
        project.save(update_fields=["uses_emulator", "uses_default_credentials"])
    return account


def _seal(info: Mapping[str, Any], project_id: int) -> bytes:
    return sealing.seal(json.dumps(dict(info)).encode(), about=str(project_id))


def parse(text: str | bytes) -> dict[str, Any]:
    """Parse a service account's file. Its content never becomes part of an error."""
    if len(text) > MAX_BYTES:
        raise ValidationError(gettext("Far too large for a service account's JSON."))
    try:
        info = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = gettext(
            "Is not JSON, or only a part of it (it ends or breaks). Give the whole file, from "
            "{ to }. A new one: %(new)s"
        )
        if isinstance(error, json.JSONDecodeError):
            message = gettext(
                "Is not JSON, or only a part of it (it ends or breaks at line %(line)s). "
                "Give the whole file, from { to }. A new one: %(new)s"
            )
        words = {"line": getattr(error, "lineno", 0), "new": GET_ONE}
        raise ValidationError(message % words) from None
    if not isinstance(info, dict):
        message = gettext("Is not a service account's JSON: not an object.")
        raise ValidationError(f"{message} {GET_ONE}")
    return info


def check(info: Mapping[str, Any], project: Project) -> None:
    """Refuse a file that cannot work, naming the field and the fix."""
    _check_kind(info)
    if odd := [name for name in REQUIRED if name in info and not isinstance(info[name], str)]:
        text = gettext("%(names)s must be texts.") % {"names": ", ".join(odd)}
        raise ValidationError(f"{text} {GET_ONE}")
    if missing := [name for name in REQUIRED if not 0 < len(info.get(name, "")) <= MAX_TEXT]:
        text = gettext("Not a whole service account's JSON: %(names)s missing.")
        raise ValidationError(f"{text % {'names': ', '.join(missing)}} {GET_ONE}")
    if "@" not in info["client_email"] or not info["client_email"].isprintable():
        text = gettext("is not an account's address.")
        raise ValidationError(f"client_email: {text} {GET_ONE}")
    if info["project_id"] != project.firebase_project_id:
        text = gettext(
            "this key belongs to “%(owner)s”, the project sends as “%(project)s”. Give that "
            "project's key, or correct the project's Firebase project ID first."
        )
        text %= {"owner": info["project_id"][:100], "project": project.firebase_project_id}
        raise ValidationError(f"project_id: {text}")
    # Requests signed with the key go where token_uri points: only to Google or to our emulator.
    _check_address("token_uri", info, sorted({settings.GOOGLE_TOKEN_URI, settings.FCM_TOKEN_URI}))
    # With another one, Google's library signs a token itself, which FCM does not know.
    _check_address("universe_domain", {"universe_domain": UNIVERSE} | dict(info), [UNIVERSE])
    _check_private_key(info["private_key"])


def _check_address(name: str, info: Mapping[str, Any], allowed: list[str]) -> None:
    if info[name] in allowed:
        return
    text = gettext(
        "must be %(known)s, not “%(given)s”. Download the file again instead of correcting it."
    )
    known = gettext("{} or {}").format(*allowed) if allowed[1:] else allowed[0]
    text %= {"known": known, "given": str(info[name])[:100]}
    raise ValidationError(f"{name}: {text} {GET_ONE}")


def _check_kind(info: Mapping[str, Any]) -> None:
    if "project_info" in info or "client" in info:
        text = gettext(
            "This is google-services.json, the app's own configuration. Needed is a key: %(new)s"
        )
        raise ValidationError(text % {"new": GET_ONE})
    kind = info.get("type", "service_account")
    if kind != "service_account":
        text = gettext("must be “service_account”, not “%(given)s”.") % {"given": str(kind)[:50]}
        raise ValidationError(f"type: {text} {GET_ONE}")


def _check_private_key(pem: str) -> None:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        text = gettext(
            "is not a key we can read; was it cut short, or its line ends lost? Give the file as "
            "it was downloaded."
        )
        raise ValidationError(f"private_key: {text} {GET_ONE}") from None
    if not isinstance(key, RSAPrivateKey):
        text = gettext("must be an RSA key.")
        raise ValidationError(f"private_key: {text} {GET_ONE}")
