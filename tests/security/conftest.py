"""Somebody with a key, and somebody at the desk, in one project."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from notifications.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller


@pytest.fixture
def caller(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def desk(project: Project) -> Desk:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("ada", "ada@example.com", "a long phrase"))
    return Desk(client)
