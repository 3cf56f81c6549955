"""Under the policy without eval: whatever Alpine and htmx move on a page, by hand.

That no page asks for any when it is opened: test_accessible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from campaigns.engine import engine
from notifications.people.project import Project
from tests.browser.accessibility import WATCH
from tests.browser.sessions import logged_in_again, share_session
from tests.browser.settled import wait_until_settled
from tests.given.builders import make_audience, make_contact, make_people, make_run
from tests.given.runs import settle

pytestmark = pytest.mark.django_db(transaction=True)
# One leaf for each way to type a value, so that each is drawn.
EVERY_WAY = {
    "all": [
        {"field": "attributes.first_name", "op": "contains", "value": "A"},
        {"field": "attributes.age", "op": "gt", "value": 3},
        {"field": "created_at", "op": "within_last", "value": "P3D"},
        {"field": "created_at", "op": "before", "value": "2026-01-01"},
        {"field": "attributes.pro", "op": "eq", "value": True},
        {"field": "attributes.plan", "op": "in", "value": ["pro", "5"]},
        {"field": "platform", "op": "in", "value": ["ios"]},
        {"any": [{"field": "locale", "op": "eq", "value": "ko"}]},
    ]
}


@pytest.fixture
def upset() -> list[str]:
    return []


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, upset: list[str]) -> Iterator[Page]:
    """Any console warning, script error or policy violation fails the test."""
    context = browser.new_context(base_url=live_server.url)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.on("pageerror", lambda error: upset.append(str(error)))
    page.on(
        "console",
        lambda said: upset.append(said.text) if said.type in ("error", "warning") else None,
    )
    share_session(page, live_server, logged_in_again())
    yield page
    context.close()


def open_whole(page: Page, path: str) -> None:
    page.goto(path)
    wait_until_settled(page)


def expect_calm(page: Page, upset: list[str]) -> None:
    assert upset + page.evaluate("window.refused") == [], page.url


def test_every_rule_of_the_builder_is_drawn_and_changed(
    page: Page, upset: list[str], project: Project
) -> None:
    make_contact(project, attributes={"first_name": "Ada", "age": 7, "plan": "pro", "pro": True})
    audience = make_audience(project, name="All ways", rules=EVERY_WAY)
    open_whole(page, reverse("admin:campaigns_audience_change", args=[audience.pk]))
    expect(page.locator(".a-rule")).to_have_count(8)
    shown = page.locator(".a-value input").evaluate_all("all => all.map(one => one.value)")
    assert shown == ["A", "3", "3", "2026-01-01", "", "ko"]
    page.get_by_role("combobox", name="Which of these must match").first.select_option("any")
    page.get_by_label("Number").fill("9")
    page.get_by_label("Date").fill("2026-02-03")
    page.get_by_label("Unit of time").select_option("W")
    page.locator(".a-rule", has=page.locator("option[value=false]")).locator(
        ".a-value select"
    ).select_option("false")
    page.get_by_role("button", name="Remove pro").click()
    text = page.locator("#id_rules")
    for part in ("any", "9", "2026-02-03", "P3W", "false"):
        expect(text).to_have_value(re.compile(rf'"?{part}"?'))
    assert '"pro"' not in text.input_value().replace('"attributes.pro"', "")
    page.get_by_role("button", name="Ungroup, and keep the rules").click()
    page.get_by_role("button", name="Put this rule into a group of its own").first.click()
    page.get_by_role("tab", name="JSON, for experts").click()
    page.get_by_role("tab", name="Blocks").click()
    expect_calm(page, upset)


def test_a_templates_tabs_options_and_rows_move(
    page: Page, upset: list[str], rows: dict[str, int]
) -> None:
    open_whole(page, reverse("admin:campaigns_template_change", args=[rows["campaigns_template"]]))
    page.get_by_label("Language tag").fill("ko")
    page.get_by_role("button", name="Add a language").click()
    page.locator("#t-in-title").fill("안녕")
    page.get_by_role("tab", name="Main text").click()
    page.get_by_role("button", name="Add a value").click()
    page.get_by_label("Name", exact=True).last.fill("note")
    page.get_by_label("Text", exact=True).last.fill("x")
    expect(page.locator("#id_data")).to_have_value(re.compile('"note": "x"'))
    expect(page.locator("#id_locales")).to_have_value(re.compile("안녕"))
    page.locator(".t-platform summary").first.click()
    page.locator(".t-platform select").first.select_option(index=1)
    expect(page.locator("#id_options")).not_to_have_value(re.compile(r"^\s*\{?\}?\s*$"))
    expect_calm(page, upset)


def test_dialogs_menus_themes_and_filters_open(
    page: Page, upset: list[str], project: Project
) -> None:
    make_people(project, 3)
    run = make_run(project)
    settle(run, accepted=1)
    engine.advance(run.pk, now=timezone.now())
    open_whole(page, reverse("admin:campaigns_run_change", args=[run.pk]))
    page.get_by_text("Pause", exact=True).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.keyboard.press("Control+e")  # the theme
    dark = page.evaluate("document.documentElement.classList.contains('dark')")
    page.reload()
    assert page.evaluate("document.documentElement.classList.contains('dark')") == dark
    page.locator("#nav-sidebar [x-on\\:click^='openUserLinks =']").last.click()
    page.get_by_text("Dark", exact=True).click()
    expect(page.locator("html")).to_have_class(re.compile("dark"))

    page.get_by_role("button", name="Navigation").first.click()
    page.reload()
    assert page.evaluate("localStorage.getItem('sidebarDesktopOpen')") == "0"
    page.keyboard.press("Control+k")
    expect(page.locator("#find")).to_be_visible()
    page.keyboard.press("Escape")

    page.goto(reverse("admin:campaigns_campaign_changelist"))
    page.get_by_text("Filters").first.click()
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Navigation").last.click()
    expect(page.locator("#nav-sidebar")).to_be_in_viewport()
    expect_calm(page, upset)


def test_a_page_nobody_sees_asks_nothing_and_one_seen_again_does(
    page: Page, upset: list[str], project: Project
) -> None:
    make_people(project, 3)
    run = make_run(project)
    live = reverse("admin:run_live", args=[run.pk])
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url) if live in sent.url else None)
    open_whole(page, reverse("admin:campaigns_run_change", args=[run.pk]))
    with page.expect_request(f"**{live}*"):
        pass  # by itself, each second
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    asked.clear()
    refused = page.evaluate(
        """() => new Promise((resolve) => document.addEventListener("htmx:beforeRequest",
            (event) => resolve(event.defaultPrevented)))"""
    )
    assert refused and asked == []
    page.evaluate("delete document.hidden")
    with page.expect_request(f"**{live}*"):
        pass
    expect_calm(page, upset)


def test_markup_that_got_in_all_the_same_neither_runs_nor_calls_home(
    page: Page, project: Project
) -> None:
    """The second wall: as if a page of ours had a hole."""
    Project.objects.update(image_hosts=["cdn.example.com"])
    asked: list[str] = []

    def answer(route: Route) -> None:
        """Whatever leaves the browser comes by here."""
        asked.append(route.request.url)
        route.fulfill(status=204)

    page.route(re.compile("example"), answer)
    open_whole(page, reverse("admin:index"))
    page.evaluate("""() => {
        const hole = document.createElement("div");
        hole.innerHTML = `<img src="https://evil.example/a.png" onerror="window.ran = 1">
            <img src="https://cdn.example.com/a.png"><iframe srcdoc="<script>top.ran = 2</script>">
            </iframe><form action="https://evil.example/" id="away"><input name="a"></form>`;
        document.body.append(hole);
        const script = document.createElement("script");
        script.textContent = "window.ran = 3";
        document.body.append(script);
        setTimeout("window.ran = 4");
        setTimeout(() => document.getElementById("away").submit());
    }""")
    for directive in ("img-src", "script-src", "form-action"):
        expect_refused(page, directive)
    assert page.evaluate("window.ran") is None
    assert asked == ["https://cdn.example.com/a.png"]


def expect_refused(page: Page, directive: str) -> None:
    refused = page.evaluate(
        """async (directive) => {
            const found = () => window.refused.some((said) => said.startsWith(directive));
            for (const until = Date.now() + 60000; !found() && Date.now() < until;)
                await new Promise(requestAnimationFrame);
            return found();
        }""",
        directive,
    )
    assert refused, directive
