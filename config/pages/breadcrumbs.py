"""Breadcrumbs in the product's words: Overview › Campaigns › Spring sale › Recipients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template
from django.db.models import Model
from django.template import RequestContext
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from config.pages import navigation
from notifications.admin.ui.page import page_url

register = template.Library()
PARENTS = {"campaigns_calendar": "campaigns_campaign_changelist"}


@dataclass(frozen=True)
class Crumb:
    title: str
    link: str = ""


@register.simple_tag(takes_context=True)
def crumbs(context: RequestContext) -> list[Crumb]:
    """The breadcrumbs. The last one is the page itself, as its heading; the others are links."""
    request = context["request"]
    items = [item for group in navigation.everything() for item in group["items"]]
    overview, section = items[0], navigation.section_of(request, [{"items": items}])
    way = [Crumb(overview["title"], str(overview["link"]))]
    if section is not None and section is not overview:
        above = PARENTS.get(section["page"])
        ways = [*(item for item in items if above and item.get("page") == above), section]
        way += [Crumb(item["title"], str(item["link"])) for item in ways]
    if section is overview or context.get("cl") or _is_list(request, section):
        return [*way[:-1], Crumb(way[-1].title)]
    return [*way, *_row_crumbs(context)] if section is not None else [*way, Crumb(_title(context))]


def _is_list(request: Any, section: dict[str, Any] | None) -> bool:
    return section is not None and request.resolver_match.url_name == section["page"]


def _row_crumbs(context: RequestContext) -> list[Crumb]:
    """The row, and what this page shows of it. A row that is still being made has no name."""
    row = context.get("original") or context.get("object")
    if not isinstance(row, Model) or row.pk is None:
        return [Crumb(_title(context))]
    page = context["request"].resolver_match.url_name or ""
    name = f"{row._meta.app_label}_{row._meta.model_name}"
    if page == f"{name}_change":
        return [Crumb(str(row))]
    return [Crumb(str(row), page_url(row)), Crumb(_action_name(context, page))]


def _action_name(context: RequestContext, page: str) -> str:
    """The name of an action. Django's titles of these are questions and name the row again."""
    words = {"delete": _("Delete"), "history": _("History")}
    return words.get(page.rpartition("_")[2]) or _title(context)


def _title(context: RequestContext) -> str:
    return capfirst(str(context.get("title") or _("Page")))
