"""Readers of environment variables: a wrong value stops the start, with its name and the fix."""

from __future__ import annotations

import os
import secrets
import shlex
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
KEYS = ("SECRET_KEY", "CREDENTIALS_KEY")


def load_running_stack(env_file: Path) -> None:
    """Use the addresses of a stack that `make run` started; a variable that is set already wins."""
    theirs = _variables(env_file) if env_file.is_file() else {}
    ours = os.environ.get("DATABASE_URL", theirs.get("DATABASE_URL"))
    if ours == theirs.get("DATABASE_URL"):  # else its secrets belong to another installation
        for name, value in theirs.items():
            os.environ.setdefault(name, value)


def _variables(env_file: Path) -> dict[str, str]:
    lines = (line.partition("=") for line in env_file.read_text().splitlines())
    return {
        name.strip(): "".join(shlex.split(value))
        for name, _, value in lines
        if name.strip() and not name.startswith("#")
    }


def insist_on(*names: str) -> None:
    """Raise one error that names all missing variables, so that nobody finds them one by one."""
    missing = [
        name for name in names if not (os.environ.get(name) or os.environ.get(f"{name}_FILE"))
    ]
    if missing:
        raise ImproperlyConfigured(
            f"Not set: {', '.join(missing)}. `make run` sets them for its own machine; on another "
            "one give them the values they have there (docs/operating.md)."
        )


def keys(*, withheld: bool) -> tuple[str, str]:
    """SECRET_KEY and CREDENTIALS_KEY.

    A process that must not have them (`withheld`) gets a random signing key, which no other process
    trusts, and no key to seal with.
    """
    if not withheld:
        return env_secret(KEYS[0]), env_secret(KEYS[1])
    for name in KEYS:
        if os.environ.get(name) or os.environ.get(f"{name}_FILE"):
            raise ImproperlyConfigured(
                f"CARILLON_WITHOUT_KEYS is set, and {name} too. Unset one of them."
            )
    return secrets.token_urlsafe(48), ""


def env_text(name: str, default: str | None = None) -> str:
    value = os.environ.get(name, "") or default
    if value is None:
        raise ImproperlyConfigured(f"{name} is not set. `make run` sets it; see docs/operating.md.")
    return value


def env_secret(name: str, default: str | None = None) -> str:
    """The value, or the content of the file named by NAME_FILE (how containers pass secrets)."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: cannot read {path}: {error}") from error
    return env_text(name, default)


def env_int(name: str, default: int, *, least: int = 0) -> int:
    text = env_text(name, str(default))
    if not text.isdecimal() or int(text) < least:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {least}: {text!r}.")
    return int(text)


def env_bool(name: str, default: bool) -> bool:
    text = env_text(name, str(default)).lower()
    if text not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} must be true or false, not {text!r}.")
    return text in TRUE


def env_choice(name: str, default: str, choices: tuple[str, ...]) -> str:
    text = env_text(name, default)
    if text not in choices:
        listed_choices = ", ".join(filter(None, choices))  # an empty choice stands for “not set”
        raise ImproperlyConfigured(f"{name} must be one of {listed_choices}, not {text!r}.")
    return text


def env_address(name: str) -> str:
    """The HTTP address of another service; empty: there is none."""
    text = env_text(name, "").rstrip("/")
    if text and not text.startswith(("http://", "https://")):
        raise ImproperlyConfigured(f"{name} must begin with http:// or https://: {text!r}.")
    return text


def env_list(name: str, default: str) -> list[str]:
    return [part.strip() for part in env_text(name, default).split(",") if part.strip()]
