"""Rules added by keyboard."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page


def rule_at(page: Page, number: int) -> Any:
    return page.get_by_role("group", name=f"Rule {number}", exact=True)


def add_rule(page: Page, number: int, field: str) -> Any:
    page.get_by_role("button", name="Add a rule").press("Enter")
    rule_at(page, number).get_by_label("What the rule is about").select_option(field)
    return rule_at(page, number)
