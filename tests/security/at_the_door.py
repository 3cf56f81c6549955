"""Somebody at the log-in: from an address, with a browser of their own."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.test import Client
from django.urls import reverse

PASSWORD = "a long pass phrase"
HERE, THERE = "203.0.113.9", "198.51.100.7"


def browser(address: str = HERE) -> Client:
    return Client(raise_request_exception=False, REMOTE_ADDR=address)


def knock(client: Client, name: str = "bob", password: str = "wrong") -> Any:
    values = {"username": name, "password": password}
    return client.post(reverse("admin:login"), values)


def guess(times: int, name: str = "bob", address: str = HERE) -> list[int]:
    """Wrong passwords, each from a browser without a past; what was answered."""
    return [knock(browser(address), name).status_code for _ in range(times)]


def is_let_in(client: Client, name: str = "bob", password: str = PASSWORD) -> bool:
    return bool(knock(client, name, password).status_code == 302)


def minutes_pass(minutes: int) -> None:
    """For what counts wrong guesses."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE notifications_guesses SET ends_at = ends_at - %s * interval '1 minute'",
            [minutes],
        )
