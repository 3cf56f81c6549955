"""A folder of the test's own for images, and somebody at the desk."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from config.boot.images import image_storage
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.builders import make_project
from tests.roles.people import logged_in


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: LazySettings) -> Path:
    there = tmp_path / "images"
    kept = image_storage("", "", folder=str(there))
    settings.STORAGES = {**settings.STORAGES, "images": kept}
    settings.PUBLIC_URL = "https://push.example.com"
    settings.IMAGES_URL = "https://push.example.com/i"
    return there


@pytest.fixture
def project(db: None) -> Project:
    return make_project(name="Shop")


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.EDITOR))


@pytest.fixture
def stranger() -> Client:
    return Client()
