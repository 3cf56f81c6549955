"""Names that are markup: on no page do they become any, ask anything or upset the browser.

On a phone in the dark, where they are too long for a line and no page scrolls sideways for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, ConsoleMessage, Page
from pytest_django.live_server_helper import LiveServer

from campaigns import control
from campaigns.engine import engine
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from campaigns.texts.snippets.snippet import Snippet
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.browser.accessibility import LEFT, PHONE, SIDEWAYS, WATCH
from tests.browser.settled import wait_until_settled
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_snippet,
    make_template,
)

pytestmark = pytest.mark.django_db(transaction=True)

UNBROKEN = "W" * 70 + "alert(1)"  # nowhere to break a line
# Each breaks out of another place: text, an attribute, a script, JSON, Alpine, htmx, a template.
CORPUS = (
    "<script data-xss>alert(1)</script>",
    '"><img data-xss src=x onerror=alert(1)>',
    "'><svg data-xss onload=alert(1)>",
    "</script><script data-xss>alert(1)</script>",
    "</textarea></title></style><b data-xss>",
    "'});alert(1);//",
    "\\u003cb data-xss\\u003e",
    '<i data-xss x-data x-init="alert(1)">',
    '<i data-xss hx-get="/admin/" hx-trigger="load">',
    "{{constructor.constructor('alert(1)')()}}",
    "javascript:alert(1)",
    "{% load l10n %}{{ 7|add:'<b data-xss>' }}{{ request.user.password }}",
    "\u202e\u2067<b data-xss> alert(1) \u2066",  # written from right to left
    "👩\u200d👩\u200d👧\u200d👦🔔" * 4 + "alert(1)",
    UNBROKEN,
)
HOSTILE = " ".join(CORPUS)
ADDRESS = '"><img/data-xss/src=x/onerror=alert(1)>'  # an address has no space


def piece(number: int, longest: int = 100) -> str:
    """One of them, whole: a name is too short for all."""
    fitting = [text for text in CORPUS if len(text) <= longest]
    return fitting[number % len(fitting)]


@pytest.fixture
def upset() -> list[str]:
    return []


@pytest.fixture
def page(
    browser: Browser,
    live_server: LiveServer,
    client: Client,
    upset: list[str],
) -> Iterator[Page]:
    ada = User.objects.create_superuser("ada@<b>", "ada@example.com", "a long pass phrase")
    client.force_login(ada)
    context = browser.new_context(viewport=PHONE, color_scheme="dark")
    session = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
    context.add_init_script(WATCH)
    page = context.new_page()

    def asked(dialog: Any) -> None:
        upset.append(f"it asked: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", asked)
    page.on("pageerror", lambda error: upset.append(str(error)))

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error" and message.text not in LEFT:
            upset.append(message.text)

    page.on("console", listen)
    yield page
    context.close()


@pytest.fixture
def run(project: Project) -> Run:
    """A run, and around it everything that has a name."""
    for number in range(len(CORPUS)):
        contact = make_contact(
            project,
            external_id=piece(number),
            attributes={"first_name": piece(number), "plan": [piece(number + 1)]},
        )
        make_device(contact, f"{ADDRESS}{number}", app_version=piece(number, 50))
        make_audience(project, name=f"{number} {piece(number, 90)}")
    everybody = {"not": {"field": "attributes.plan", "op": "eq", "value": " ".join(CORPUS[:11])}}
    campaign = make_campaign(
        project,
        name=piece(1),
        tags=[text for text in CORPUS if len(text) <= 30],
        audience=make_audience(project, name=piece(2), rules=everybody),
        template=make_template(
            project,
            name=piece(3),
            title="{{ first_name }} {% raw %}" + piece(0) + "{% endraw %}",
            body="{% raw %}" + HOSTILE + "{% endraw %}",
            data={"note": piece(1)},
            locales={"ko": {"title": piece(2), "body": piece(4)}},
        ),
    )
    make_campaign(project, name=piece(4), template=campaign.template, audience=campaign.audience)
    run = control.launch(campaign, by=f"user:{piece(5)}", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    Delivery.objects.create(
        run_id=run.pk, seq=1, device_id=project.device_set.earliest("pk").pk, status="rejected",
        reason="refused_message", detail=HOSTILE[:200], message_id=piece(1), attempt=1,
        at=timezone.now(),
    )  # fmt: skip
    ApiKey.issue(project, piece(2), ["runs"])
    make_snippet(project, "footer", piece(0), ko=piece(1))
    return run


@pytest.fixture
def project(db: None) -> Project:
    ours = make_project(name=piece(1))
    make_project(name=piece(3))  # so that every page names both, to choose from
    return ours


def pages_of(run: Run) -> list[str]:
    campaign, contact = run.campaign, run.project.contact_set.latest("pk")
    device, snippet = contact.devices.get(), Snippet.objects.get()
    edit = f"campaigns/campaign/{campaign.pk}/change/"
    return [
        "",
        "campaigns/campaign/",
        edit,
        *(f"{edit}?step={step}" for step in ("what", "when", "review")),
        f"campaigns/campaign/{campaign.pk}/delete/",
        "campaigns/campaign/add/",
        "campaigns/campaign/calendar/",
        "campaigns/run/",
        f"campaigns/run/{run.pk}/change/",
        f"campaigns/run/{run.pk}/deliveries/",
        "campaigns/audience/",
        f"campaigns/audience/{campaign.audience_id}/change/",
        "campaigns/template/",
        f"campaigns/template/{campaign.template_id}/change/",
        f"campaigns/template/{campaign.template_id}/translations/",
        f"campaigns/snippet/{snippet.pk}/change/",
        "notifications/contact/",
        f"notifications/contact/{contact.pk}/change/",
        "notifications/device/",
        f"notifications/device/{device.pk}/change/",
        "search/?s=%3Cscript",
        "notifications/auditentry/",
        "notifications/apikey/",
        "notifications/apikey/add/",
        f"notifications/project/{run.project_id}/change/",
        "auth/user/",
        "operations/",
    ]


def test_no_page_takes_a_name_for_markup_or_scrolls_sideways_for_it(
    page: Page, run: Run, live_server: LiveServer, upset: list[str]
) -> None:
    shown, wrong = 0, {}
    for path in pages_of(run):
        page.goto(f"{live_server.url}/admin/{path}")
        wait_until_settled(page)
        found = [*upset, *page.evaluate("window.refused")]
        upset.clear()
        if page.locator("[data-xss]").count():
            found.append("markup")
        if (wide := page.evaluate(SIDEWAYS)) > 0:
            found.append(f"{wide} px too wide for a phone")
        if found:
            wrong[path] = found
        shown += "alert(1)" in page.locator("body").inner_text()
    assert wrong == {}
    assert shown >= 15, "the names are on the pages, to be read"


def test_no_dialog_and_no_answer_takes_one_either(
    page: Page, run: Run, live_server: LiveServer, upset: list[str]
) -> None:
    """What comes later than the page: a dialog, people found, values offered, why one is in."""
    second = run.project.campaign_set.exclude(pk=run.campaign.pk).get()
    page.goto(f"{live_server.url}/admin/campaigns/campaign/{second.pk}/change/?step=review")
    page.get_by_role("link", name="Launch …").click()
    page.get_by_role("dialog").get_by_text("alert(1)").first.wait_for()
    page.goto(f"{live_server.url}/admin/campaigns/run/{run.pk}/change/")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button").first.wait_for()
    page.goto(f"{live_server.url}/admin/campaigns/audience/{run.campaign.audience_id}/change/")
    page.locator("#people").get_by_text("alert(1)").first.wait_for()
    page.locator("input[name=person]").fill(piece(0))
    page.locator("input[name=person]").press("Enter")
    page.locator("#person").get_by_text("alert(1)").first.wait_for()
    page.goto(f"{live_server.url}/admin/campaigns/template/{run.campaign.template_id}/change/")
    page.fill("#preview-person", UNBROKEN)
    page.locator("#preview strong", has_text=UNBROKEN).wait_for()
    assert page.evaluate(SIDEWAYS) <= 0
    assert page.evaluate("window.refused") == []
    assert page.locator("[data-xss]").count() == 0
    assert upset == []
