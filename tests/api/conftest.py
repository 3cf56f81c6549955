"""The cast: Alice's program may do everything, Charlie's belongs to another project."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_project, make_template


@pytest.fixture
def ours(db: None) -> Project:
    return make_project()


@pytest.fixture
def alice(ours: Project) -> Caller:
    return Caller(ours)


@pytest.fixture
def charlie(db: None) -> Caller:
    return Caller(make_project())


@pytest.fixture
def intent(ours: Project) -> dict[str, Any]:
    audience, template = make_audience(ours), make_template(ours)
    return {"name": "Autumn run", "audience": audience.pk, "template": template.pk}
