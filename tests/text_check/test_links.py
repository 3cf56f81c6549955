"""Links of the project's own hosts are tried if somebody asks for it, and no others ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings

from campaigns.text_check import links
from config.boot.outgoing import Places
from notifications.people.project import Project
from notifications.staff.team import Role
from notifications.webhooks.transports import https_post
from tests.admin.desk import Desk
from tests.given.builders import make_campaign
from tests.given.project_form import project_form
from tests.roles.people import logged_in
from tests.servers.receiver import Receiver, receiving
from tests.text_check.reading import found, make_reader, one, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(tmp_path: Path, settings: LazySettings) -> Iterator[Receiver]:
    with receiving(tmp_path / "receiver") as receiver:
        settings.OUTGOING_CA_FILE = receiver.ca_file
        settings.OUTGOING_ALLOWED = Places(frozenset({"localhost"}), ())
        receiver.pages = {"/there": 200, "/moved": 301, "/members": 403}
        yield receiver


def url(shop: Receiver, path: str) -> str:
    return f"https://localhost:{urlsplit(shop.url).port}{path}"


@pytest.fixture
def ours(project: Project, shop: Receiver) -> Project:
    project.own_hosts = [urlsplit(shop.url).netloc]
    project.save()
    make_reader(project, "bob", external="x")
    return project


def test_a_page_that_is_not_there_is_found_and_one_that_is_there_is_not(
    ours: Project, shop: Receiver
) -> None:
    texts = {
        "title": "Hi", "link": url(shop, "/there#part"), "image": url(shop, "/gone.png"),
        "locales": {"ko": {"link": url(shop, "/weg")}, "fr": {"link": url(shop, "/moved")},
                    "de": {"link": url(shop, "/members")}},
    }  # fmt: skip
    report = read(make_campaign(ours, template=texts), tries_links=True)
    dead = {each["url"]: each["status"] for each in found(report, "dead_link")}
    assert dead == {url(shop, "/gone.png"): 404, url(shop, "/weg"): 404}
    assert found(report, "link_trouble") == []
    assert [one.path for one in shop.heard].count("HEAD /there") == 1
    assert {one.path.split()[0] for one in shop.heard} == {"HEAD"}


def test_nobody_is_asked_unless_somebody_wants_it(ours: Project, shop: Receiver) -> None:
    campaign = make_campaign(ours, template={"title": "Hi", "link": url(shop, "/gone")})
    assert read(campaign)["findings"] == [] and shop.heard == []


def test_a_host_that_the_project_does_not_call_its_own_is_never_asked(
    ours: Project, shop: Receiver
) -> None:
    ours.own_hosts = ["shop.example.com"]
    ours.save()
    campaign = make_campaign(ours, template={"title": "Hi", "link": url(shop, "/gone")})
    report = read(campaign, tries_links=True)
    assert (report["links"], report["links_untried"], shop.heard) == ([], 1, [])


def test_a_link_with_a_persons_value_is_never_opened(ours: Project, shop: Receiver) -> None:
    link = url(shop, "/unsubscribe?who={{ external_id }}")
    report = read(make_campaign(ours, template={"title": "Hi", "link": link}), tries_links=True)
    assert (report["links"], report["links_untried"], shop.heard) == ([], 1, [])


def test_an_own_host_that_leads_into_our_network_is_not_called(
    ours: Project, shop: Receiver, settings: LazySettings
) -> None:
    settings.OUTGOING_ALLOWED = Places(frozenset(), ())
    campaign = make_campaign(ours, template={"title": "Hi", "link": url(shop, "/there")})
    trouble = one(read(campaign, tries_links=True), "link_trouble")
    assert (trouble["error"], trouble["level"], shop.heard) == ("forbidden", "odd", [])


def test_a_host_that_knows_no_heads_is_asked_for_the_page(ours: Project, shop: Receiver) -> None:
    shop.knows_heads = False
    campaign = make_campaign(ours, template={"title": "Hi", "link": url(shop, "/there")})
    assert read(campaign, tries_links=True)["findings"] == []
    assert [one.path for one in shop.heard] == ["HEAD /there", "GET /there"]


def test_a_host_in_trouble_is_no_dead_link(
    ours: Project, shop: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.pages = {"/there": 503}
    campaign = make_campaign(ours, template={"title": "Hi", "link": url(shop, "/there")})
    assert one(read(campaign, tries_links=True), "link_trouble")["status"] == 503


def test_twenty_addresses_are_tried_and_no_more(
    ours: Project, shop: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = [f"en-{letter}{other}" for letter in "ABCDEF" for other in "GHIJK"]
    locales = {tag: {"link": url(shop, f"/{tag}")} for tag in tags}
    campaign = make_campaign(ours, template={"title": "Hi", "locales": locales})
    report = read(campaign, tries_links=True)
    assert len(shop.heard) == len(report["links"]) == links.MOST == 20
    assert report["links_untried"] == 10


def test_an_operator_lists_the_hosts_on_the_projects_page(project: Project) -> None:
    desk = Desk(logged_in(Role.OPERATOR))
    hosts = {"own_hosts": " Shop.example.com, *.example.org "}
    desk.save("notifications_project_change", project.pk, **project_form(project, ""), **hosts)
    project.refresh_from_db()
    assert project.own_hosts == ["shop.example.com", "*.example.org"]
    wrong = {"own_hosts": "https://shop.example.com"}
    said = desk.save(
        "notifications_project_change", project.pk, **project_form(project, ""), **wrong
    )
    assert "“https://shop.example.com” is not a host" in said
    project.refresh_from_db()
    assert project.own_hosts == ["shop.example.com", "*.example.org"]


def test_a_redirect_is_not_followed(ours: Project, shop: Receiver) -> None:
    assert https_post.look(url(shop, "/moved")).status == 301
    assert len(shop.heard) == 1
