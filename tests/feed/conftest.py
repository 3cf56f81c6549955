"""A feed that runs, a person of a project, and their app."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from notifications.inbox.storing import New, store
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.own_app import OwnApp, app_of
from tests.given.builders import make_contact, make_project
from tests.servers.feed import Ear, Feed

numbers = count(1)
Send = Callable[..., None]


@pytest.fixture(scope="module")
def feed(django_db_setup: None) -> Iterator[Feed]:
    feed = Feed()
    yield feed
    feed.kill()


@pytest.fixture
def ours(transactional_db: None) -> Project:
    return make_project()


@pytest.fixture
def ada(ours: Project) -> Contact:
    return make_contact(ours, external_id="ada")


@pytest.fixture
def app(ours: Project, ada: Contact) -> OwnApp:
    return app_of(ours, "ada")


@pytest.fixture
def ear(feed: Feed, app: OwnApp) -> Iterator[Ear]:
    """Ada's stream, which knows how much there is."""
    ear = feed.listen(app.token)
    assert ear.status == 200, ear.refusal()
    ear.until("counts")
    yield ear
    ear.close()


def new_items(person: Contact, how_many: int = 1, **values: Any) -> list[New]:
    given: dict[str, Any] = {"content": {"title": "Hello", "body": "You have mail"}}
    return [
        New(contact_id=person.pk, reference=f"m:{next(numbers)}", **{**given, **values})
        for _ in range(how_many)
    ]


def send(person: Contact, how_many: int = 1, **values: Any) -> None:
    """And commit, and ring."""
    stored = store(person.project_id, new_items(person, how_many, **values))
    assert stored == how_many
