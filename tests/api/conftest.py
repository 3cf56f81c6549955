"""The cast: Alice's program may do everything, Charlie's belongs to another project."""

from __future__ import annotations

import pytest

from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_project


@pytest.fixture
def ours(db: None) -> Project:
    return make_project()


@pytest.fixture
def alice(ours: Project) -> Caller:
    return Caller(ours)


@pytest.fixture
def charlie(db: None) -> Caller:
    return Caller(make_project())
