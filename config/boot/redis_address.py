"""REDIS_URL in the form that all our clients read: which database, and how to check TLS.

Celery must be told what to check, redis-py has other names for it, and Flower reads no URL at all.
So the URL itself says it: check the certificate and its name, by the system's authorities or our
own. Imports no Django, because the launcher uses it too.
"""

from __future__ import annotations

import ssl
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

DEFAULTS = {"ssl_cert_reqs": "required", "ssl_check_hostname": "true"}
REQUIREMENTS = ("required", "optional", "none")
OURS = ("broker", "results", "gate", "cache")  # one database for each, in this order


def redis_address(url: str, *, database: int = 0, ca_file: str = "") -> str:
    """The address with its database number raised by `database`, and with checked TLS options.

    Raises ValueError with a text for the person who set it.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("redis", "rediss"):
        raise ValueError("REDIS_URL must begin with redis://, or rediss:// for TLS.")
    first = parts.path.strip("/") or "0"
    if not first.isdecimal():
        raise ValueError("REDIS_URL must end in a database number, e.g. …:6379/0.")
    query = dict(parse_qsl(parts.query))
    if parts.scheme == "rediss":
        query = _check_tls_options(query, ca_file)
    elif ca_file:
        raise ValueError("REDIS_CA_FILE is set, and REDIS_URL is without TLS: write rediss://.")
    path = f"/{int(first) + database}"
    return urlunsplit(parts._replace(path=path, query=urlencode(query)))


def redis_databases(url: str, *, ca_file: str = "") -> dict[str, str]:
    """The addresses of our four databases, by use."""
    return {
        name: redis_address(url, database=number, ca_file=ca_file)
        for number, name in enumerate(OURS)
    }


def tls_of(address: str) -> dict[str, Any]:
    """The TLS options in the address, for clients that want them apart; empty without TLS."""
    query = dict(parse_qsl(urlsplit(address).query))
    tls: dict[str, Any] = {name: query[name] for name in query if name.startswith("ssl_")}
    if tls:
        tls["ssl_check_hostname"] = tls["ssl_check_hostname"].lower() == "true"
    return tls


def _check_tls_options(query: dict[str, str], ca_file: str) -> dict[str, str]:
    query = DEFAULTS | ({"ssl_ca_certs": ca_file} if ca_file else {}) | query
    # Celery writes CERT_REQUIRED, redis-py writes required.
    requirement = query["ssl_cert_reqs"].removeprefix("CERT_").lower()
    if requirement not in REQUIREMENTS:
        raise ValueError(f"ssl_cert_reqs in REDIS_URL must be one of {', '.join(REQUIREMENTS)}.")
    if path := query.get("ssl_ca_certs"):
        _insist_on_certificates(path)
    return query | {"ssl_cert_reqs": requirement}


def _insist_on_certificates(path: str) -> None:
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        text = f"REDIS_CA_FILE (or ssl_ca_certs in REDIS_URL): no certificates in {path}: "
        raise ValueError(text + (error.strerror or str(error))) from error
