"""The service account the emulator hands out: the one key its token endpoint trusts."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from emulator.folder import Folder, write

PROJECT = "carillon-demo"
EMAIL = f"carillon@{PROJECT}.iam.gserviceaccount.com"

FIELDS = {"project_id", "client_email", "private_key_id", "private_key", "token_uri"}


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    project: str
    email: str
    key_id: str
    key: rsa.RSAPublicKey
    token_uri: str


def prepare(folder: Folder, *, port: int) -> None:
    """Make the account if there is none. Its key stays for ever, its token_uri follows the port."""
    token_uri = f"https://127.0.0.1:{port}/token"
    if not folder.service_account.exists():
        _write(folder, _new_account(token_uri))
        return
    account = _read(folder)
    if account["token_uri"] != token_uri:
        _write(folder, account | {"token_uri": token_uri})


def load(folder: Folder) -> ServiceAccount:
    account = _read(folder)
    key = serialization.load_pem_private_key(account["private_key"].encode(), password=None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError(f"{folder.service_account} does not hold an RSA key")
    return ServiceAccount(
        project=account["project_id"],
        email=account["client_email"],
        key_id=account["private_key_id"],
        key=key.public_key(),
        token_uri=account["token_uri"],
    )


def _new_account(token_uri: str) -> dict[str, Any]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        "project_id": PROJECT,
        "private_key_id": secrets.token_hex(20),
        "private_key": pem.decode(),
        "client_email": EMAIL,
        "client_id": "100000000000000000001",
        "token_uri": token_uri,
        "universe_domain": "googleapis.com",
    }


def _read(folder: Folder) -> dict[str, Any]:
    account = orjson.loads(folder.service_account.read_bytes())
    if not isinstance(account, dict) or not account.keys() >= FIELDS:
        raise ValueError(f"{folder.service_account} is not a service account")
    return account


def _write(folder: Folder, account: dict[str, Any]) -> None:
    content = orjson.dumps(account, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    write(folder.service_account, content, private=True)
