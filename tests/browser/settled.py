"""Waiting for a page that still loads; `wait_for_function` needs the eval that ours forbid."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def wait_until_settled(page: Page) -> None:
    """Until htmx has its answers and Alpine has drawn what it draws."""
    under_way = ".htmx-request, .htmx-swapping, .htmx-settling, [x-cloak]"
    expect(page.locator(under_way)).to_have_count(0)
