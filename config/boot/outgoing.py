"""Where reports may go, and through which mail server: read once, at the start."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.boot.environment import env_list

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
SMTP = "django.core.mail.backends.smtp.EmailBackend"
CONSOLE = "django.core.mail.backends.console.EmailBackend"
PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


# The local machine, where a receiver under development has no certificate.
WITHOUT_TLS = {
    "http://127.0.0.1": "127.0.0.1",
    "http://[::1]": "::1",
    "http://localhost": "localhost",
}


@dataclass(frozen=True)
class Places:
    """Allowed targets: hosts by name, networks, and local names that are called without TLS."""

    hosts: frozenset[str]
    networks: tuple[Network, ...]
    without_tls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Mail:
    backend: str
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False


def env_places(name: str, *, served: bool) -> Places:
    hosts, networks, without_tls = set(), [], set()
    for text in env_list(name, ""):
        if text.startswith("http://"):
            without_tls.add(_own_machine(name, text, served))
            continue
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError:
            if "/" in text or ":" in text or not text.isascii():
                raise ImproperlyConfigured(
                    f"{name}: {text!r} is neither a host nor a network such as 10.1.0.0/16."
                ) from None
            hosts.add(text.lower())
    return Places(frozenset(hosts), tuple(networks), frozenset(without_tls))


def _own_machine(name: str, text: str, served: bool) -> str:
    if served:
        raise ImproperlyConfigured(
            f"{name}: production and staging send over https:// only. Leave out {text!r}."
        )
    host = WITHOUT_TLS.get(text.rstrip("/").lower())
    if host is None:
        raise ImproperlyConfigured(
            f"{name}: {text!r}: only http://127.0.0.1, http://[::1] and http://localhost can be "
            "without TLS. Each stands for all of its ports."
        )
    return host


def env_email(name: str, url: str) -> Mail:
    """Parse the URL here: errors of other parsers name neither the variable nor the fix."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _email_error(name) from None
    if parts.scheme == "console":
        return Mail(CONSOLE)
    if parts.scheme not in PORTS or not parts.hostname:
        raise _email_error(name)
    return Mail(
        SMTP,
        host=parts.hostname,
        port=port or PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+starttls",
        tls=parts.scheme == "smtps",
    )


def _email_error(name: str) -> ImproperlyConfigured:
    """The error, without the value: there may be a password in it."""
    return ImproperlyConfigured(
        f"{name} must be smtps://user:password@host, smtp+starttls://… or smtp://…, with special "
        "characters percent-encoded; or console:// to write e-mail to the log."
    )
