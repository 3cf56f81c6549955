"""What is wrong with a page in a browser, by axe-core (WCAG 2.2 AA), light and dark, and wide."""

from __future__ import annotations

from importlib.resources import files

from playwright.sync_api import Browser, Page, ViewportSize
from pytest_django.live_server_helper import LiveServer

from tests.browser.settled import wait_until_settled

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()


WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


DESK, PHONE = ViewportSize(width=1360, height=900), ViewportSize(width=390, height=844)


# Said on the console by a page that is left while it asks for news.
LEFT = ("htmx:sendAbort", "htmx:afterRequest")


# By light and in the dark, and what there must be one of: all in one question, which is quicker.
JUDGE = """async ([without, wcag]) => {
    const asked = async (only) => (await axe.run({exclude: without},
            {resultTypes: ["violations"], runOnly: only})).violations
        .filter(found => ["serious", "critical"].includes(found.impact))
        .map(({id, nodes}) => `${id}: ${nodes.map(node => node.html.slice(0, 160)).join(" + ")}`);
    const wrong = await asked({type: "tag", values: wcag});
    const still = new CSSStyleSheet();  // every colour is at once what it is on its way to
    still.replaceSync("*, ::before, ::after { transition: none !important }");
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];
    document.documentElement.classList.toggle("dark");  // what the switch does
    const contrast = {type: "rule", values: ["color-contrast", "link-in-text-block"]};
    wrong.push(...(await asked(contrast)).map(found => `dark: ${found}`));
    for (const only of ["main", "h1"]) {
        const count = document.querySelectorAll(only).length;
        if (count !== 1) wrong.push(`${count} <${only}>`);
    }
    if (!document.title.trim() || /Select .* to/.test(document.title)) wrong.push(document.title);
    return wrong;
}"""


# What follows the window's size may be a moment late.
SIDEWAYS = """async () => {
    const wide = () => document.documentElement.scrollWidth - innerWidth;
    const until = Date.now() + 10_000;
    while (wide() > 0 && Date.now() < until) await new Promise(requestAnimationFrame);
    return wide();
}"""


WATCH = """
window.refused = [];
document.addEventListener('securitypolicyviolation', event =>
    window.refused.push(`${event.violatedDirective} ${event.sample || event.blockedURI}`));
"""


def calm_page(browser: Browser, live_server: LiveServer) -> Page:
    """Less motion: nothing fades while its colours are measured."""
    context = browser.new_context(viewport=DESK, base_url=live_server.url, reduced_motion="reduce")
    context.add_init_script(AXE)
    context.add_init_script(WATCH)
    return context.new_page()


def complaints(page: Page) -> list[str]:
    """What is wrong with the page that is open: at a desk, in the dark, and on a phone.

    The navigation is the same everywhere and the slowest to judge: the overview's is enough.
    """
    without = [] if page.url.endswith("/admin/") else [["#nav-sidebar"]]
    page.set_viewport_size(DESK)
    wait_until_settled(page)
    wrong: list[str] = page.evaluate(JUDGE, [without, WCAG])
    if (wide := page.evaluate(SIDEWAYS)) > 0:
        wrong.append(f"{wide} px too wide for a desk")
    page.set_viewport_size(PHONE)
    if (wide := page.evaluate(SIDEWAYS)) > 0:
        wrong.append(f"{wide} px too wide for a phone")
    return wrong


def looked_at(page: Page, paths: list[str]) -> dict[str, list[str]]:
    found = {}
    for path in paths:
        open_at_a_desk(page, path)
        if wrong := complaints(page):
            found[path] = wrong
    return found


def open_at_a_desk(page: Page, path: str) -> None:
    page.set_viewport_size(DESK)
    page.goto(path)
