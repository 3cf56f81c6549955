"""PostgreSQL and Valkey: starts embedded ones, or uses those that the environment names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import psycopg
import redis

from config.boot.database_address import database_address
from config.boot.prerequisites import missing_databases, old_postgresql
from config.boot.redis_address import redis_address, redis_databases
from config.stack import StackError
from config.stack.ports import embedded_ports
from config.stack.servers import postgres, valkey
from config.stack.state import State
from config.stack.supervision.account import quarters
from config.stack.supervision.leftovers import MARK
from config.stack.supervision.service import Service
from config.stack.supervision.supervisor import Supervisor

HINTS = {
    "DATABASE_URL": "Start that server, correct the address, or unset DATABASE_URL",
    "REDIS_URL": "Start that server, correct the address, or unset REDIS_URL",
}


def start_servers(
    supervisor: Supervisor,
    state: State,
    secrets: Mapping[str, str],
    environ: Mapping[str, str],
    *,
    for_tests: bool,
) -> dict[str, str]:
    """Start the servers that are not provided, and wait until they answer.

    Returns DATABASE_URL and REDIS_URL.
    """
    provided = {name: environ[name] for name in HINTS if environ.get(name)}
    if "REDIS_URL" in provided:
        provided["REDIS_URL"] = _with_tls(provided["REDIS_URL"], environ.get("REDIS_CA_FILE", ""))
    for name, address in provided.items():
        _insist_on_answer(name, address)
    marked = dict(environ) | {MARK: str(state.path)}
    services, urls = _embedded_services(state, secrets, marked, provided, for_tests=for_tests)
    supervisor.start(services)
    supervisor.await_answers([service.name for service in services], seconds=60)
    return provided | urls


def _embedded_services(
    state: State,
    secrets: Mapping[str, str],
    env: Mapping[str, str],
    provided: Mapping[str, str],
    *,
    for_tests: bool,
) -> tuple[list[Service], dict[str, str]]:
    if len(provided) == len(HINTS):
        return [], {}
    home = quarters(state.path)
    ports = embedded_ports(state.path / "ports.json")
    services, urls = [], {}
    if "DATABASE_URL" not in provided:
        port = ports["postgres"]
        services.append(postgres.service(home, port, secrets, env, for_tests=for_tests))
        urls["DATABASE_URL"] = postgres.url(port, secrets)
    if "REDIS_URL" not in provided:
        port, password = ports["valkey"], secrets["VALKEY_PASSWORD"]
        services.append(valkey.service(home, port, password, env))
        urls["REDIS_URL"] = valkey.url(port, password)
    return services, urls


def _with_tls(address: str, ca_file: str) -> str:
    try:
        return redis_address(address, ca_file=ca_file)
    except ValueError as error:
        raise StackError(str(error)) from error


def _insist_on_answer(name: str, address: str) -> None:
    """Fail now with the variable's name, not in a minute with seven processes' tracebacks."""
    trouble = _database_trouble(address) if name == "DATABASE_URL" else _redis_trouble(address)
    if trouble:
        raise StackError(f"{name}: {without_password(address)}: {trouble}.\n{HINTS[name]}.")


def without_password(address: str) -> str:
    """The part of a URL that may be shown: server, port and database."""
    parts = urlsplit(address)
    server = parts.netloc.rpartition("@")[2] or "local socket"
    return server + parts.path


def _database_trouble(address: str) -> str:
    try:
        database_address(address)
    except ValueError as error:
        return str(error).removesuffix(".")
    _, _, tail = address.partition("://")  # psql:// and pgsql:// are Django's names, not libpq's
    try:
        with psycopg.connect(f"postgresql://{tail}", connect_timeout=5) as connection:
            return old_postgresql(connection.info.server_version).removesuffix(".")
    except psycopg.Error as error:
        return str(error).strip().splitlines()[0]


def _redis_trouble(address: str) -> str:
    with suppress(redis.RedisError):
        return missing_databases(redis_databases(address)).removesuffix(".")
    if address.startswith("rediss:"):
        return "no answer, the password is refused, or nobody vouches for it (REDIS_CA_FILE)"
    return "no answer, or the password is refused"
