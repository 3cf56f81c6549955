"""create_api_key: shown once, kept as a hash."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from notifications.people.project import Project
from notifications.staff.api_key import ApiKey, Scope
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_project


@pytest.fixture
def shop(db: None) -> Project:
    return make_project(slug="shop")


def create(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("create_api_key", *arguments, stdout=out, stderr=err)
    return out.getvalue().strip(), err.getvalue()


def test_the_key_alone_is_printed_and_it_works(shop: Project) -> None:
    key, told = create("crm", "--project", "shop")
    assert key.startswith("car_")
    assert key not in told
    answer = Client().get("/api/v1/runs", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200
    row = ApiKey.objects.get()
    assert (row.project, row.name, set(row.scopes)) == (shop, "crm", set(Scope.values))


def test_the_key_is_kept_nowhere(shop: Project) -> None:
    key, _ = create("crm", "--project", "shop")
    kept = [*ApiKey.objects.values_list(), *AuditEntry.objects.values_list()]
    assert key not in str(kept)
    assert AuditEntry.objects.get().action == "created"


def test_it_may_do_only_what_it_was_given(shop: Project) -> None:
    key, _ = create("crm", "--project", "shop", "--scope", "contacts", "--scope", "launch")
    row = ApiKey.find_valid(key, now=timezone.now())
    assert row is not None
    assert row.scopes == ["contacts", "launch"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["crm", "--project", "nowhere"], "Projects: shop"),
        (["", "--project", "shop"], "1 to 100"),
        (["   ", "--project", "shop"], "not only spaces"),
        (["crm\nadmin", "--project", "shop"], "control character"),
        (["crm\x1b[2J", "--project", "shop"], "control character"),
        (["crm\udcff", "--project", "shop"], "control character"),
        (["x" * 101, "--project", "shop"], "1 to 100"),
        (["crm", "--project", "shop", "--scope", "everything"], "invalid choice"),
        (["crm"], "--project"),
    ],
)
def test_a_mistake_is_said_and_makes_no_key(
    shop: Project, arguments: list[Any], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        create(*arguments)
    assert not ApiKey.objects.exists()
