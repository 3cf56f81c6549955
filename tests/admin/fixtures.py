"""Fixtures for tests of pages: people at their desks, and projects that never send."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_project
from tests.given.log_in import log_in


@pytest.fixture
def desk(client: Client, db: None) -> Desk:
    log_in(client, User.objects.create_superuser("ada", "ada@example.com", "a long pass phrase"))
    return Desk(client)


@pytest.fixture
def project(db: None) -> Project:
    """The only project, so that no page asks for one. It never sends."""
    return make_project(name="Shop", timezone="Asia/Seoul")


@pytest.fixture
def museum(project: Project) -> Project:
    """Beside the project “Shop”, which is older and thus the one a person starts in."""
    return make_project(name="Museum", timezone="Europe/Oslo")


@pytest.fixture
def bob(project: Project) -> Desk:
    """Another person, at another desk."""
    client = Client()
    log_in(client, User.objects.create_superuser("bob", "b@example.com", "a long pass phrase"))
    return Desk(client)
