"""Every page by axe-core (WCAG 2.2 AA, light and dark), on a phone's width, and by keyboard.

And calm, under the policy without eval: one walk asks everything that each page has to answer.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import ConsoleMessage, Page, expect
from pytest_django.live_server_helper import LiveServer

from campaigns import control
from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.test_sends.models import SentTest
from campaigns.test_sends.tasks import send_test
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.browser.accessibility import DESK, LEFT, complaints, looked_at, open_at_a_desk
from tests.browser.sessions import logged_in_again, share_session
from tests.browser.settled import wait_until_settled
from tests.given.alerts import make_alert
from tests.given.builders import make_campaign, make_people, make_run, make_template
from tests.given.runs import settle
from tests.roles.every_page import address, pages
from tests.roles.people import logged_in
from tests.test_sends.trying import make_tester

pytestmark = pytest.mark.django_db(transaction=True)

# Their forms are the same when empty.
ADDED_LIKE_CHANGED = ("audience", "template", "contact", "device", "project")
# What Alpine's CSP build cannot read, or may not reach: what runs only at a click is found so too.
BEYOND_ALPINE = r"""() => {
    const words = "new|typeof|if|return|await|document|localStorage|JSON|valueOf|toString";
    const beyond = RegExp("=>|`|[?][?]|[?][.]|;\\s*\\S|\\b(" + words + ")\\b");
    const directive = /^(x-(on|bind|show|text|model|if|for|init|data|effect)\b|@|:)/;
    const inside = (root) => [...root.querySelectorAll("*")].flatMap((one) =>
        one instanceof HTMLTemplateElement ? [one, ...inside(one.content)] : [one]);
    return inside(document)
        .flatMap((one) => one.getAttributeNames().map((name) => [name, one.getAttribute(name)]))
        .filter(([name, value]) => directive.test(name)
            && beyond.test(value.replace(/'[^']*'|"[^"]*"/g, "''")))
        .map((found) => found.join("="));
}"""
# What says where the keyboard is: an outline, or a ring or border of the field around it.
SEEN = """() => {
    const drawn = (box) => {
        const style = getComputedStyle(box);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    };
    const at = document.activeElement, box = at.getBoundingClientRect();
    if (at === document.body || box.width === 0) return null;
    return [drawn(at) || drawn(at.parentElement) || drawn(at.closest("label") ?? at), at.outerHTML];
}"""
MOVING = """() => [...document.querySelectorAll("*")].filter((box) => {
    const style = getComputedStyle(box);
    return [style.transitionDuration, style.animationDuration].join(",").split(",")
        .some((time) => parseFloat(time) > 0.001);
}).map((box) => box.outerHTML.slice(0, 120))"""


@pytest.fixture
def upset(page: Page) -> list[str]:
    """Any console warning (Alpine logs its errors there) or script error fails the test."""
    said: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and message.text not in LEFT:
            said.append(message.text)

    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", listen)
    return said


def whole_pages(rows: dict[str, int]) -> list[str]:
    """Every address of the admin that answers with a page, and not with a part of one."""
    client = logged_in(Role.OWNER)
    paths = {address(each, rows) for each in pages() if each.name not in ("logout", "")}
    alike = ("/history/", "/delete/", *(f"/{model}/add/" for model in ADDED_LIKE_CHANGED))
    paths -= {path for path in paths if path and path.endswith(alike)}
    return sorted(path for path in paths if path and is_whole(client.get(path)))


def is_whole(reply: Any) -> bool:
    return reply.status_code == 200 and not reply.streaming and b"<!DOCTYPE html>" in reply.content


def test_every_page_can_be_used_by_everybody_is_calm_and_asks_for_no_eval(
    page: Page, upset: list[str], live_server: LiveServer, rows: dict[str, int], project: Project
) -> None:
    paths = whole_pages(rows)
    assert len(paths) > 25, "the walk has lost its way"
    steps = reverse("admin:campaigns_campaign_change", args=[rows["campaigns_campaign"]])
    paths += [f"{steps}?step={step}" for step in ("who", "what", "when", "review")]
    paths += [reverse("admin:campaigns_audience_delete", args=[rows["campaigns_audience"]])]

    share_session(page, live_server, logged_in_again())
    found = {}
    for path in paths:
        open_at_a_desk(page, path)
        if wrong := [*complaints(page), *unrest(page, upset)]:
            found[path] = wrong
    open_at_a_desk(page, "/api/docs/")  # rendered by a third-party script
    assert found == {} and unrest(page, upset) == []


def unrest(page: Page, upset: list[str]) -> list[str]:
    """What the page that is open made the browser say, and what only a click would."""
    wait_until_settled(page)
    said = [*upset, *page.evaluate("window.refused"), *page.evaluate(BEYOND_ALPINE)]
    upset.clear()
    return said


def test_a_run_in_trouble_and_a_result_can_too(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    person = make_people(project, 9)[0].contact
    sending, paused, finished = (make_run(project, name=name) for name in ("One", "Two", "Three"))
    settle(sending, accepted=3, rejected=2, skipped=1, unknown=1)
    paused.pause(Cause.DEAD_ADDRESSES, "40 % of the addresses.")
    settle(finished, accepted=6, rejected=1, skipped=1, unknown=1)
    finished.chunks.update(state=Chunk.State.CLOSED)
    for _ in ("ends", "is counted"):
        engine.advance(finished.pk, now=timezone.now())
    share_session(page, live_server, logged_in(Role.OWNER))
    runs = [reverse("admin:campaigns_run_change", args=[run.pk]) for run in (sending, paused)]
    ended = [
        reverse(f"admin:{name}", args=[finished.pk])
        for name in ("campaigns_run_change", "run_deliveries", "run_compare")
    ]
    why = f"{reverse('admin:run_why', args=[finished.pk])}?person={person}"
    assert looked_at(page, ["/admin/", *runs, *ended, why]) == {}

    page.goto(ended[0])
    page.get_by_text("Technical", exact=True).click()
    assert complaints(page) == []

    page.set_viewport_size(DESK)
    page.goto(runs[0])
    page.get_by_text("Pause", exact=True).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert complaints(page) == []


def test_the_dialog_of_a_test_send_can_too(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    make_tester(project, "dead-1:APA91b")
    make_tester(project)
    template = make_template(project)
    share_session(page, live_server, logged_in(Role.EDITOR))
    page.goto(reverse("admin:campaigns_template_change", args=[template.pk]))
    page.get_by_role("button", name="Send a test …").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert complaints(page) == []
    page.get_by_role("button", name="Send the test").click()
    expect(page.locator("#test-sent")).to_contain_text("On its way.")
    send_test(SentTest.objects.get().pk)
    expect(page.locator("#test-sent")).to_contain_text("Every device has its answer.")
    assert complaints(page) == []


def test_the_text_of_a_run_can_be_changed_by_everybody_who_may(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    """Written, looked at, sent; and then the page that says who got which."""
    make_people(project, 9)
    run = make_run(project, name="Spring", template={"locales": {"ko": {"title": "봄"}}})
    settle(run, accepted=3, unknown=1)
    share_session(page, live_server, logged_in(Role.SENDER))
    page.goto(reverse("admin:campaigns_run_change", args=[run.pk]))
    page.get_by_text("Change the text", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("5 recipients still wait")
    assert complaints(page) == []
    dialog.get_by_label("Title", exact=True).fill("See you in {{ city }}")
    dialog.get_by_role("button", name="Look at the change").click()
    expect(dialog).to_contain_text("for lack of “city”")
    assert complaints(page) == []
    page.set_viewport_size(DESK)
    dialog.get_by_role("button", name="Send this text from now on").click()
    expect(page.locator("#run-texts")).to_contain_text("What revision 2 changed")
    assert complaints(page) == []


def test_alerts_can_be_made_quiet_by_everybody_who_may(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    """With the keyboard alone, which stays where it is."""
    make_people(project, 3)
    run = make_run(project, name="Spring sale")
    run.pause(Cause.BAD_CREDENTIALS)
    paused, quota = make_alert(project, run=run), make_alert(project)
    make_alert(project, kind="quota", ended_at=timezone.now())
    share_session(page, live_server, logged_in(Role.SENDER))
    of_run = reverse("admin:campaigns_run_change", args=[run.pk])
    assert looked_at(page, ["/admin/alerts/", "/admin/alerts/?kind=slow", "/admin/", of_run]) == {}

    page.goto("/admin/alerts/")
    button = page.locator(f"#alert-{quota.pk}-seen")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_text("Undo: remind again")
    expect(button).to_be_focused()
    expect(page.locator(f"#alert-{quota.pk}")).to_contain_text("Seen by sender-person on")
    assert complaints(page) == []
    page.keyboard.press("Enter")
    expect(button).to_have_text("Seen: be quiet")
    expect(page.locator(f"#alert-{quota.pk}")).not_to_contain_text("Seen by")

    page.goto(of_run)
    page.get_by_role("button", name="Seen: be quiet. “Spring sale”").click()
    expect(page.locator(f"#alert-{paused.pk}")).to_contain_text("Seen by sender-person on")
    assert complaints(page) == []


def test_a_chart_says_its_values_under_the_pointer_and_at_the_arrow_keys(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    make_people(project, 3)
    settle(make_run(project), accepted=3)
    Run.objects.update(accepted=3)
    share_session(page, live_server, logged_in(Role.VIEWER))
    page.goto("/admin/")
    said, today = page.locator("chart-values output"), r"^[^·]+ · Accepted: 3 · Failed: 0$"

    page.get_by_role("group", name="Accepted and failed by day").focus()
    expect(said).to_be_hidden()
    page.keyboard.press("End")
    expect(said).to_have_text(re.compile(today))
    page.keyboard.press("ArrowLeft")
    expect(said).to_have_text(re.compile(r"Accepted: 0"))
    page.keyboard.press("Escape")
    expect(said).to_be_hidden()

    drawing = page.locator("#day-chart [data-drawing]").bounding_box()
    assert drawing
    page.mouse.move(drawing["x"] + drawing["width"] - 3, drawing["y"] + 20)
    expect(said).to_have_text(re.compile(today))


def test_pages_without_anything_on_them_can_too(page: Page, live_server: LiveServer) -> None:
    assert looked_at(page, ["/admin/login/"]) == {}
    share_session(page, live_server, logged_in(Role.OWNER))
    models = ("campaign", "run", "audience", "template")
    empty = [f"/admin/campaigns/{model}/" for model in models]
    empty += ["/admin/", "/admin/campaigns/campaign/calendar/", "/admin/notifications/contact/"]
    empty += ["/admin/notifications/import/", "/admin/alerts/"]
    assert looked_at(page, [*empty, "/admin/nowhere/"]) == {}
    share_session(page, live_server, logged_in(Role.VIEWER))
    assert looked_at(page, ["/admin/operations/"]) == {}, "what is not for one's role"


def test_the_keyboard_is_always_seen_and_may_skip_the_navigation(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    share_session(page, live_server, logged_in(Role.OWNER))
    for name in ("campaigns_campaign_changelist", "campaigns_audience_add"):
        page.goto(reverse(f"admin:{name}"))
        unseen = []
        for _ in range(45):
            page.keyboard.press("Tab")
            if (found := page.evaluate(SEEN)) and not found[0]:
                unseen.append(found[1][:200])
        assert unseen == []

    page.goto(reverse("admin:campaigns_campaign_change", args=[campaign.pk]))
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("Boolean(document.activeElement.closest('main'))")


def test_the_account_menu_opens_and_closes_by_keyboard(page: Page, live_server: LiveServer) -> None:
    share_session(page, live_server, logged_in(Role.OWNER))
    page.set_viewport_size(DESK)
    page.goto("/admin/")
    account = page.locator("#nav-sidebar").get_by_role("button", expanded=False).last
    reached = "node => node === document.activeElement"
    for _ in range(60):
        page.keyboard.press("Tab")
        if account.evaluate(reached):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Light")).to_be_visible()
    for name in ("Light", "Dark", "System", "Change password", "Second factor", "Log out"):
        page.keyboard.press("Tab")
        role: Any = "link" if name in ("Change password", "Second factor") else "button"
        expect(page.get_by_role(role, name=name)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Log out")).to_be_hidden()
    expect(account).to_be_focused()


def test_whoever_asks_for_less_motion_gets_none(
    page: Page, live_server: LiveServer, project: Project
) -> None:
    make_people(project, 3)
    run = make_run(project)
    settle(run, accepted=1)
    control.pause(run, by="user:ada")
    share_session(page, live_server, logged_in(Role.OWNER))
    for path in ("/admin/", reverse("admin:campaigns_run_change", args=[run.pk])):
        page.goto(path)
        assert page.evaluate(MOVING) == []
