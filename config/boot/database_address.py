"""DATABASE_URL, looked at before anybody connects. Imports no Django: the launcher needs it too."""

from __future__ import annotations

from urllib.parse import urlsplit

SCHEMES = ("postgresql", "postgres", "psql", "pgsql")


def database_address(url: str) -> str:
    """The same. Raises ValueError, in words for whoever set it, and without the password."""
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
