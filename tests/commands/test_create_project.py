"""create_project: a project without a browser, judged as its page judges it."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import make_project

pytestmark = pytest.mark.django_db
SHOP = ("shop", "--firebase-project", "shop-1234")


def create(*arguments: str) -> str:
    out = StringIO()
    call_command("create_project", *arguments, stdout=out)
    return out.getvalue()


def test_a_project_is_made_with_what_was_said_of_it() -> None:
    create(*SHOP, "--name", "Our shop", "--timezone", "Asia/Seoul", "--quota", "60000")
    project = Project.objects.get()
    assert (project.slug, project.name) == ("shop", "Our shop")
    assert project.firebase_project_id == "shop-1234"
    assert (project.timezone, project.quota_per_minute) == ("Asia/Seoul", 60_000)


def test_what_was_not_said_is_as_its_page_has_it() -> None:
    create(*SHOP)
    project, plain = Project.objects.get(), Project()
    assert (project.name, project.timezone) == ("shop", plain.timezone)
    assert project.quota_per_minute == plain.quota_per_minute


def test_an_id_may_belong_to_a_domain() -> None:
    create("shop", "--firebase-project", "example.com:shop-1234")
    assert Project.objects.get().firebase_project_id == "example.com:shop-1234"


def test_the_next_two_commands_are_said_and_take_it() -> None:
    said = create(*SHOP)
    assert "manage.py set_firebase_credentials --project shop FILE" in said
    assert "manage.py create_api_key NAME --project shop" in said
    key = StringIO()
    call_command("create_api_key", "crm", "--project", "shop", stdout=key, stderr=StringIO())
    assert key.getvalue().startswith("car_")


def test_who_made_it_is_kept() -> None:
    create(*SHOP)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.about) == ("carillon", "created", "project shop")
    assert entry.project == Project.objects.get()


def test_one_that_is_there_stays_as_it_is() -> None:
    make_project(slug="shop", name="The shop", firebase_project_id="shop-1")
    with pytest.raises(CommandError, match=r"“shop” already, “The shop”, .* project shop-1"):
        create(*SHOP, "--timezone", "Nowhere")
    assert Project.objects.get().firebase_project_id == "shop-1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a shop", "--firebase-project", "x"], "SLUG: .*letters, numbers, underscores or hyphens"),
        (["shop", "--firebase-project", ""], "--firebase-project: .*blank"),
        (["shop", "--firebase-project", "My Shop!"], "--firebase-project: .*6 to 30 of a–z"),
        (["shop", "--firebase-project", "short"], "--firebase-project: .*6 to 30"),
        (["shop", "--firebase-project", "x" * 31], "--firebase-project: .*6 to 30"),
        (["shop", "--firebase-project", "nodots:shop-1234"], "--firebase-project: .*6 to 30"),
        ([*SHOP, "--name", "  "], "--name: .*more than spaces"),
        (["shop"], "--firebase-project"),
        ([*SHOP, "--timezone", "Seoul"], "--timezone: .*not a time zone we know"),
        ([*SHOP, "--quota", "59"], "--quota: .*60"),
        ([*SHOP, "--quota", "many"], "--quota: invalid int"),
        ([*SHOP, "--name", "x" * 101], "--name: .*100 characters"),
    ],
)
def test_what_its_page_would_refuse_is_refused_with_the_options_name(
    arguments: list[str], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        create(*arguments)
    assert not Project.objects.exists()


@pytest.mark.parametrize("command", ["create_api_key crm", "set_firebase_credentials"])
def test_commands_that_need_one_say_how_to_make_the_first(command: str) -> None:
    name, *arguments = command.split()
    with pytest.raises(CommandError, match=r"no project “shop”.*manage.py create_project"):
        call_command(name, *arguments, "--project", "shop")
