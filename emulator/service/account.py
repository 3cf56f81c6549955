"""The service accounts the emulator hands out: the only keys its token endpoint trusts.

One is for the project whose devices live here. The other is good as well, but for another project:
with it a sender finds out what it does with the wrong key.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from emulator.folder import Folder, write

PROJECT = "carillon-demo"
OTHER_PROJECT = "carillon-other"

FIELDS = {"project_id", "client_email", "private_key_id", "private_key", "token_uri"}


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    project: str
    email: str
    key_id: str
    key: rsa.RSAPublicKey
    token_uri: str


def prepare(folder: Folder, *, port: int) -> None:
    """Make the accounts that are missing. Their keys stay for ever, token_uri follows the port."""
    token_uri = f"https://127.0.0.1:{port}/token"
    for file, project in _accounts(folder):
        account = _read(file) if file.exists() else _new_account(project)
        if account["token_uri"] != token_uri:
            _write(file, account | {"token_uri": token_uri})


def load(folder: Folder) -> tuple[ServiceAccount, ...]:
    """The account of the project whose devices live here, then the other one."""
    return tuple(_load(file) for file, _ in _accounts(folder))


def _accounts(folder: Folder) -> tuple[tuple[Path, str], ...]:
    return (folder.service_account, PROJECT), (folder.wrong_account, OTHER_PROJECT)


def _load(file: Path) -> ServiceAccount:
    account = _read(file)
    key = serialization.load_pem_private_key(account["private_key"].encode(), password=None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError(f"{file} does not hold an RSA key")
    return ServiceAccount(
        project=account["project_id"],
        email=account["client_email"],
        key_id=account["private_key_id"],
        key=key.public_key(),
        token_uri=account["token_uri"],
    )


def _new_account(project: str) -> dict[str, Any]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        "project_id": project,
        "private_key_id": secrets.token_hex(20),
        "private_key": pem.decode(),
        "client_email": f"carillon@{project}.iam.gserviceaccount.com",
        "client_id": "100000000000000000001",
        "token_uri": "",
        "universe_domain": "googleapis.com",
    }


def _read(file: Path) -> dict[str, Any]:
    account = orjson.loads(file.read_bytes())
    if not isinstance(account, dict) or not account.keys() >= FIELDS:
        raise ValueError(f"{file} is not a service account")
    return account


def _write(file: Path, account: dict[str, Any]) -> None:
    content = orjson.dumps(account, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    write(file, content, private=True)
