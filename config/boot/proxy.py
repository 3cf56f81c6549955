"""The proxy between this machine and Google: read once, at the start."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.boot.environment import env_secret, env_text
from notifications.proxy import Proxy


def env_proxy(name: str) -> Proxy | None:
    """The proxy that the variable names, with or without http://.

    The variable's lower-case name wins, as in other tools.
    """
    text = os.environ.get(name.lower()) or env_secret(name, "")
    if not text:
        return None
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        place = parts.netloc if parts.port else f"{parts.netloc.rstrip(':')}:80"
    except ValueError:
        raise _proxy_error(name) from None
    if parts.scheme != "http" or not parts.hostname or parts.port == 0 or " " in place:
        raise _proxy_error(name)
    return Proxy(f"http://{place}")


def env_no_proxy(name: str) -> str:
    return os.environ.get(name.lower()) or env_text(name, "")


def _proxy_error(name: str) -> ImproperlyConfigured:
    """The error, without the value: there may be a password in it."""
    return ImproperlyConfigured(
        f"{name} must be http://host:port or http://user:password@host:port, with special "
        "characters percent-encoded. A proxy that wants TLS or SOCKS itself cannot be used."
    )
