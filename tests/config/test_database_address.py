"""What Django makes of DATABASE_URL is what libpq makes of it, and so pg_dump and the launcher."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from config.boot.database_address import database_settings

USUAL = "postgresql://carillon:secret@db.example:5432/shop"


def parameters(url: str) -> dict[str, Any]:
    """As Django passes them on to libpq."""
    read = database_settings(url)
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
    given = {libpqs: read[ours] for ours, libpqs in {**names, "PORT": "port"}.items()}
    options = {name: str(value) for name, value in read["OPTIONS"].items()}
    return {name: value for name, value in given.items() if value} | options


def test_each_part_of_the_address_has_its_place() -> None:
    assert database_settings(USUAL) == {
        "NAME": "shop", "USER": "carillon", "PASSWORD": "secret", "HOST": "db.example",
        "PORT": "5432", "OPTIONS": {},
    }  # fmt: skip


@pytest.mark.parametrize("scheme", ["postgres", "psql", "pgsql"])
def test_other_names_of_the_scheme_mean_the_same(scheme: str) -> None:
    url = USUAL.replace("postgresql", scheme)
    assert database_settings(url) == database_settings(USUAL)


@pytest.mark.parametrize(
    "url",
    [
        USUAL,
        "postgresql:///shop",
        "postgresql://db/shop",
        "postgresql://carillon@db/shop",
        "postgresql://carillon:p%2Fw%23%40%3A%25%20%C3%A9@db/shop",
        "postgresql://carillon:p+w:x@db/shop",
        "postgresql://an%40other:secret@db/a%20shop",
        "postgresql://carillon:secret@[::1]:5433/shop",
        "postgresql://carillon:secret@one:5433,two:5434/shop",
        "postgresql://carillon:secret@one:5433,two/shop",
        "postgresql://carillon:secret@%2Frun%2Fpostgresql/shop",
        "postgresql://carillon:secret@/shop?host=/run/postgresql",
        f"{USUAL}?sslmode=verify-full&sslrootcert=/etc/ca.pem&application_name=a%20b",
        f"{USUAL}?target_session_attrs=read-write&connect_timeout=9",
    ],
)
def test_django_reads_an_address_as_libpq_does(url: str) -> None:
    assert parameters(url) == conninfo_to_dict(url)


def test_a_folder_of_sockets_can_stand_before_the_name() -> None:
    read = database_settings("postgresql:////run/postgresql/shop")
    assert (read["HOST"], read["NAME"]) == ("/run/postgresql", "shop")


@pytest.mark.parametrize("password", ["p@ss", "100%", "a=b;c"])
def test_a_password_that_is_not_encoded_is_taken_as_it_stands(password: str) -> None:
    """As far as it does not hide where the address ends."""
    read = database_settings(f"postgresql://carillon:{password}@db/shop")
    assert (read["PASSWORD"], read["HOST"]) == (password, "db")


def test_a_number_among_the_options_is_a_number() -> None:
    """psycopg's own options want one."""
    assert database_settings(f"{USUAL}?prepare_threshold=5")["OPTIONS"] == {"prepare_threshold": 5}
