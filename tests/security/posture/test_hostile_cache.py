"""What stands in the cache is data: whoever can write to Redis cannot make the web run anything."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.core.cache import cache
from django.urls import reverse

from notifications.people.project import Project
from notifications.staff.team import Role
from tests.given.builders import make_people, make_project
from tests.roles.people import logged_in


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.path}",)


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


def test_a_pickle_in_the_cache_runs_nothing_and_the_page_is_drawn(
    project: Project, tmp_path: Path
) -> None:
    make_people(project, 3)
    key = f"device-reach-{project.pk}"
    with redis.Redis.from_url(str(settings.CACHES["default"]["LOCATION"])) as client:
        client.set(cache.make_key(key), pickle.dumps(Bomb(tmp_path / "ran")), ex=60)

    page = logged_in(Role.OWNER).get(reverse("admin:overview_health"))

    assert page.status_code == 200
    assert "3" in page.content.decode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [{"a": [1, 2]}, [1.5, "한"], "text", 7, True, None])
def test_what_is_kept_comes_back_as_it_was(value: Any) -> None:
    cache.set("a-value", value, 60)
    assert cache.get("a-value", "nothing") == value
