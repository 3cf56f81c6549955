"""Another session of PostgreSQL, beside the one our own code uses."""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import connection


def connected() -> psycopg.Connection[Any]:
    address = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    return psycopg.connect(**{name: address[name] for name in names})
