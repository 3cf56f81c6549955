"""Search over what a marketer names: campaigns, people, devices, runs, and the pages.

Unfold's own search lists Django's tables. It keeps its answers for five minutes in Redis, for the
next person too, and searches a million people for a part of a word. Ours asks each page for its
rows, so that roles and the project hold here too. It finds people only by an index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.template import Template
from campaigns.triggers.automation import Automation
from config.pages.navigation import navigation
from notifications.admin.device import MIN_TAIL
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import Page, page_url
from notifications.people.address_suffix import ending_in
from notifications.people.contact import Contact
from notifications.people.device import Device

SHOWN_OF_A_KIND = 6
LONGEST = 300  # characters


@dataclass(frozen=True)
class Found:
    title: str
    link: str
    about: str = ""


@dataclass(frozen=True)
class Kind:
    """Results of one kind, and the link to more of them."""

    title: str
    found: list[Found]
    more: str = ""


def search(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """The search view, instead of Unfold's.

    The dialog gets the results alone; opened as a page, they have all around them.
    """
    term = request.GET.get("s", "").strip()[:LONGEST]
    context = {"term": term, "kinds": list(kinds(request, term)) if term else []}
    context |= admin.site.each_context(request)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "admin/find_results.html", context)
    return TemplateResponse(request, "admin/find.html", context | {"title": _("Search")})


def kinds(request: HttpRequest, term: str) -> Iterator[Kind]:
    results = (
        _find_runs(request, term),
        _find_named(request, term, Campaign, _("Campaigns")),
        _find_named(request, term, Automation, _("Automations")),
        _find_named(request, term, Audience, _("Audiences")),
        _find_named(request, term, Template, _("Templates")),
        _find_named(request, term, Snippet, _("Snippets")),
        _find_people(request, term),
        _find_devices(request, term),
        _find_pages(request, term),
    )
    return (kind for kind in results if kind is not None and kind.found)


def _rows(request: HttpRequest, model: type[Model]) -> Any:
    """The rows that this person may see of the model: by their role, in the project they chose."""
    page = admin.site._registry[model]
    rows = page.get_queryset(request)
    return rows if isinstance(page, Page) and page.has_view_permission(request) else rows.none()


def _kind(title: str, results: Iterable[Found], more: str = "") -> Kind:
    listed = list(results)
    return Kind(title, listed[:SHOWN_OF_A_KIND], more if len(listed) > SHOWN_OF_A_KIND else "")


def _find_named(request: HttpRequest, term: str, model: type[Any], title: str) -> Kind:
    """Find any part of the name: there are hundreds of these, written by hand, not a million."""
    rows = _rows(request, model).filter(name__icontains=term).order_by("-pk")[: SHOWN_OF_A_KIND + 1]
    return _kind(title, (Found(row.name, page_url(row)) for row in rows), _link_to_all(model, term))


def _find_runs(request: HttpRequest, term: str) -> Kind | None:
    number = row_id(term.lower().removeprefix(_("Run").lower()).strip().removeprefix("#"))
    if number is None:
        return None
    rows = _rows(request, Run).filter(pk=number)
    results = (Found(str(run), page_url(run), str(Run.State(run.state).label)) for run in rows)
    return _kind(_("Runs"), results)


def _find_people(request: HttpRequest, term: str) -> Kind:
    rows = _rows(request, Contact).prefetch_related(None).select_related(None)
    rows = rows.filter(external_id__istartswith=term).order_by()[: SHOWN_OF_A_KIND + 1]
    results = (Found(row.external_id, page_url(row), row.locale) for row in rows)
    return _kind(_("People"), results, _link_to_all(Contact, term))


def _find_devices(request: HttpRequest, term: str) -> Kind | None:
    if len(term) < MIN_TAIL:
        return None
    rows = ending_in(_rows(request, Device), term).order_by()[:SHOWN_OF_A_KIND]
    text = _("of %(person)s")
    results = (
        Found(str(row), page_url(row), text % {"person": row.contact.external_id}) for row in rows
    )
    return _kind(_("Devices"), results)


def _find_pages(request: HttpRequest, term: str) -> Kind:
    items = (item for group in navigation(request) for item in group["items"])
    fitting = (item for item in items if term.lower() in item["title"].lower())
    return _kind(_("Pages"), (Found(item["title"], str(item["link"])) for item in fitting))


def _link_to_all(model: type[Model], term: str) -> str:
    query = QueryDict(mutable=True)
    query["q"] = term
    meta = model._meta
    list_url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return f"{list_url}?{query.urlencode()}"
