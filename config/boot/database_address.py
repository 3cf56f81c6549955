"""DATABASE_URL: checked and parsed before anything connects.

Imports no Django, because the launcher uses it too.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

SCHEMES = ("postgresql", "postgres", "psql", "pgsql")


def database_settings(url: str) -> dict[str, Any]:
    """Parse the URL into an entry of Django's DATABASES.

    Raises ValueError as `database_address` does.
    """
    parts = urlsplit(database_address(url))
    credentials, _, servers = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    hosts = [urlsplit(f"//{server}") for server in servers.split(",")]
    host, name = ",".join(unquote(one.hostname or "") for one in hosts), unquote(parts.path[1:])
    if name.startswith("/"):  # a folder of sockets: postgresql:////run/postgresql/carillon
        host, _, name = name.rpartition("/")
    ports = [str(one.port or "") for one in hosts]
    options = dict(parse_qsl(parts.query))
    return {
        "NAME": name,
        "USER": unquote(user),
        "PASSWORD": unquote(password),
        "HOST": host,
        "PORT": ",".join(ports) if any(ports) else "",
        "OPTIONS": {key: int(text) if text.isdecimal() else text for key, text in options.items()},
    }


def database_address(url: str) -> str:
    """Check the URL and return it unchanged.

    Raises ValueError with a text for the person who set it, without the password.
    """
    try:
        parts = urlsplit(url)
        hosts = parts.netloc.rpartition("@")[2].split(",")
        _ = [urlsplit(f"//{host}").port for host in hosts]
    except ValueError as error:
        raise ValueError(
            "DATABASE_URL: host and port cannot be read. Write it as "
            "postgresql://user:password@host:5432/name, and what is special in the password with "
            "a percent sign: %2F for a slash, %23 for #."
        ) from error
    if parts.scheme not in SCHEMES:
        raise ValueError("DATABASE_URL must begin with postgresql://.")
    if not parts.path.rpartition("/")[2]:
        raise ValueError("DATABASE_URL must end in a database's name, e.g. …:5432/carillon.")
    return url
