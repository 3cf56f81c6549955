"""Finding one's way: where one is and how one got there, in the product's words."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.builders import make_audience, make_people, make_run
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db


def way(desk: Desk, page: str, *args: Any, **query: Any) -> list[str]:
    """The crumbs and the heading, in order."""
    reply = desk.client.get(reverse(f"admin:{page}", args=args), query)
    assert reply.status_code == 200, page
    html = reply.content.decode()
    nav = re.search(r'<nav class="n-way".*?</nav>', html, re.DOTALL)
    assert nav and html.count("<h1") == 1, page
    steps = re.findall(r"<li><a [^>]*><span>(.*?)</span></a></li>", nav[0])
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", html, re.DOTALL)
    assert heading
    return [unescape(step) for step in [*steps, heading[1]]]


def marked(html: str) -> list[tuple[str, str]]:
    """What the navigation says one is at: (how exactly, name)."""
    nav = html[html.index('id="nav-sidebar-apps"') :]
    found = re.findall(r'aria-current="(\w+)">.*?</span>\s*<span>(.*?)</span>', nav, re.DOTALL)
    return [(exactness, unescape(name)) for exactness, name in found]


def test_the_way_to_each_kind_of_page_is_in_the_products_words(
    desk: Desk, project: Project
) -> None:
    [device] = make_people(project, 1)
    run = make_run(project, name="Spring")
    campaign, template = run.campaign_id, run.campaign.template
    person, birds = str(device.contact), make_audience(project, name="Birds")
    ways: dict[tuple[Any, ...], list[str]] = {
        ("index",): ["Overview"],
        ("campaigns_campaign_changelist",): ["Overview", "Campaigns"],
        ("campaigns_campaign_add",): ["Overview", "Campaigns", "Add campaign"],
        ("campaigns_campaign_change", campaign): ["Overview", "Campaigns", "Spring"],
        ("campaigns_audience_delete", birds.pk): ["Overview", "Audiences", "Birds", "Delete"],
        ("campaigns_calendar",): ["Overview", "Campaigns", "Calendar"],
        ("campaigns_template_change", template.pk): ["Overview", "Templates", template.name],
        ("campaigns_run_changelist",): ["Overview", "Runs"],
        ("campaigns_run_change", run.pk): ["Overview", "Runs", str(run)],
        ("run_deliveries", run.pk): ["Overview", "Runs", str(run), "Recipients"],
        ("notifications_contact_change", device.contact_id): ["Overview", "People", person],
        ("notifications_device_change", device.pk): ["Overview", "Devices", str(device)],
        ("operations",): ["Overview", "Operations"],
        ("auth_user_changelist",): ["Overview", "Team"],
        ("second_factor",): ["Overview", "Second factor"],
        ("password_change",): ["Overview", "Password change"],
        ("search",): ["Overview", "Search"],
    }
    assert {page: way(desk, *page) for page in ways} == ways
    finished = way(desk, "campaigns_run_changelist", state__exact="finished")
    assert finished == ["Overview", "Finished runs"]


def test_the_navigation_marks_one_place_and_says_whether_it_is_the_page_itself(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project)
    at = {
        "/admin/": ("page", "Overview"),
        "/admin/campaigns/campaign/": ("page", "Campaigns"),
        "/admin/campaigns/campaign/add/": ("true", "Campaigns"),
        "/admin/campaigns/campaign/calendar/": ("page", "Calendar"),
        "/admin/campaigns/run/": ("page", "Runs"),
        "/admin/campaigns/run/?state__exact=finished": ("page", "Finished runs"),
        f"/admin/campaigns/run/{run.pk}/deliveries/": ("true", "Runs"),
        "/admin/notifications/device/": ("page", "Devices"),
        "/admin/operations/": ("page", "Operations"),
    }
    found = {url: marked(desk.client.get(url).content.decode()) for url in at}
    assert found == {url: [place] for url, place in at.items()}


def ways_of(role: Role) -> set[str]:
    html = logged_in(role).get("/admin/").content.decode()
    nav = html[html.index('id="nav-sidebar-apps"') : html.index("</nav>")]
    return set(re.findall(r"</span>\s*<span>(.*?)</span>", nav))


def test_each_role_sees_the_ways_that_open_for_it(project: Project) -> None:
    daily = {"Overview", "Campaigns", "Automations", "Calendar", "Quota", "Audiences", "Templates",
             "Snippets", "Images", "Runs", "Finished runs", "Messages", "Alerts", "People",
             "Devices", "Import", "Attributes", "Categories", "Suppression list"}  # fmt: skip
    assert ways_of(Role.VIEWER) == daily
    assert ways_of(Role.SENDER) == daily | {"API docs"}
    operators = {"Operations", "Projects", "API keys", "Audit", "Flower", "API docs", "Endpoints"}
    assert ways_of(Role.OPERATOR) == daily | operators
    assert ways_of(Role.OWNER) == daily | operators | {"Team"}


@pytest.mark.parametrize(
    ("app", "page"),
    [
        ("campaigns", "/admin/campaigns/campaign/"),
        ("notifications", "/admin/notifications/contact/"),
        ("auth", "/admin/auth/user/"),
    ],
)
def test_djangos_list_of_an_apps_tables_leads_somewhere_of_ours(
    desk: Desk, app: str, page: str
) -> None:
    assert desk.client.get(f"/admin/{app}/")["Location"] == page


def test_who_may_not_see_the_team_is_led_to_the_overview(project: Project) -> None:
    viewer: Client = logged_in(Role.VIEWER)
    assert viewer.get("/admin/auth/")["Location"] == "/admin/"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("production", "Production"),
        ("staging", "Staging"),
        ("demo", "Demo"),
        ("development", "Development"),
        ("test", "Test"),
    ],
)
def test_every_page_says_which_environment_it_is(
    desk: Desk, settings: LazySettings, name: str, said: str
) -> None:
    settings.ENVIRONMENT = name
    html = desk.client.get("/admin/campaigns/run/").content.decode()
    assert re.search(rf"whitespace-nowrap[^>]*>\s*{said}\s*</span>", html)
