"""The project that the doors are tried on."""

from __future__ import annotations

import pytest

from notifications.people.project import Project
from tests.given.builders import make_project


@pytest.fixture
def project(db: None) -> Project:
    return make_project(name="Shop", timezone="Asia/Seoul")
