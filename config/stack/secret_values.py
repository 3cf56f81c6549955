"""Secrets of a stack: made once, kept in the state folder, readable by its owner only."""

from __future__ import annotations

import base64
import secrets
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from config.stack.state import write_private

Generator = Callable[[], str]


def _password() -> str:
    return secrets.token_urlsafe(12)


def _key() -> str:
    return secrets.token_urlsafe(48)


def _aes_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


GENERATORS: dict[str, Generator] = {
    "SECRET_KEY": _key,
    "CREDENTIALS_KEY": _aes_key,
    "ADMIN_PASSWORD": _password,
    "FLOWER_USER": lambda: "flower",
    "FLOWER_PASSWORD": _password,
    "FLOWER_COOKIE_SECRET": _key,
    "POSTGRES_PASSWORD": _key,  # of its superuser
    "DATABASE_PASSWORD": _key,  # of the role the product connects as
    "VALKEY_PASSWORD": _key,
}


def secret_values(file: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Every secret; a value in the environment wins and is not written down."""
    values = read_assignments(file) if file.is_file() else {}
    missing = {name: make() for name, make in GENERATORS.items() if name not in values}
    if missing:
        values |= missing
        write_private(file, assignments(values))
    return {name: environ.get(name) or values[name] for name in GENERATORS}


def assignments(values: Mapping[str, str]) -> str:
    """Lines that a shell can read: values are quoted, because an address may hold an ampersand."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


def read_assignments(file: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in file.read_text().splitlines())
    return {name: "".join(shlex.split(value)) for name, _, value in lines if name}
