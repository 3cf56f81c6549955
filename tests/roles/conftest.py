"""The project that the doors are tried on."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from notifications.project import Project
from tests.builders import make_project


@pytest.fixture(autouse=True)
def quick_passwords(settings: LazySettings) -> None:
    """Many people log in here, and a good hash takes a third of a second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def project(db: None) -> Project:
    return make_project(name="Shop", timezone="Asia/Seoul")
