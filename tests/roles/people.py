"""Somebody of each role, logged in."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client

from notifications.staff.team import Role, TeamMember
from tests.given.log_in import log_in


def somebody(role: Role | None, name: str = "") -> User:
    user = User.objects.create_user(
        name or f"{role}-person", password="a long pass phrase", is_staff=True
    )
    if role is not None:
        TeamMember.objects.create(user=user, role=role)
    return user


def logged_in(role: Role | None) -> Client:
    client = Client(raise_request_exception=False)
    log_in(client, somebody(role))
    return client
