"""Middleware: keeps every page inside the chosen project.

The pages' own queries limit lists and forms to one project. This middleware checks every view that
names a row or a project in its address or its form. Opening a row of another project does not
switch by itself: a person with two tabs open would launch in the wrong one. The page says so, and
offers to switch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import ResolverMatch, URLPattern, path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from campaigns.alerts.models import Alert
from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.test_sends.models import SentTest
from config.middleware.security import policy
from notifications.admin.ui import current_project, safe_redirect
from notifications.admin.ui.keyset import row_id
from notifications.people.contact import Contact
from notifications.people.importing.model import Import
from notifications.people.project import Project
from notifications.requests.origin import feed_beside

SAID = ("project", "settled_project")  # the names of a project's id in a form or an address
LISTENING = {"demo_phones"}  # pages that open a stream of the live inbox
GO = "go_to_project"  # in a POST: switch, then do what the POST asks
# The model that a URL parameter names. `object_id` and `pk` are the page's own model.
ABOUT: dict[str, type[Model]] = {
    "alert_id": Alert,
    "run_id": Run,
    "rehearsal_id": Rehearsal,
    "contact_id": Contact,
    "import_id": Import,
    "test_id": SentTest,
}
OWN_PAGES = {
    "campaign_left_out": Campaign,
    "campaign_review": Campaign,
    "campaigns_campaign_test": Campaign,
    "campaigns_series_move": Campaign,
    "rehearsals_of_campaign": Campaign,
    "audience_size": Audience,
    "audience_refill": Audience,
}


class ProjectGuard:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if (project := current_project.known_project(request)) is not None:
            feed = feed_beside(request) if _listens(request) else ""
            response.headers["Content-Security-Policy"] = policy(project.image_hosts, feed)
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or "admin" not in match.namespaces or not request.user.is_authenticated:
            return None
        if not current_project.several(request):
            return None
        _switch_if_sent(request)
        project_ids = _find_project_ids(request, match, kwargs)
        named = [
            project for project in current_project.projects(request) if project.pk in project_ids
        ]
        if len(named) > 1:
            return _refuse_two_projects(request)
        target = next(iter(named), None)
        chosen = current_project.current_project(request)
        return (
            None if target is None or target == chosen else _offer_switch(request, kwargs, target)
        )


def urls() -> list[URLPattern]:
    view = admin.site.admin_view(require_POST(switch))
    return [path("project/", view, name="project_switch")]


def switcher_context(request: HttpRequest) -> dict[str, Any]:
    """Context of the project switcher; empty for a single project (Unfold's GLOBAL_CALLBACK)."""
    if not (request.user.is_authenticated and current_project.several(request)):
        return {}
    return {
        "chosen_project": current_project.current_project(request),
        "all_projects": current_project.projects(request),
    }


def switch(request: HttpRequest) -> HttpResponse:
    """The switcher's own view; the middleware has switched already."""
    return HttpResponseRedirect(safe_redirect.page(request.POST.get("next", "")))


def _switch_if_sent(request: HttpRequest) -> None:
    project_id = row_id(request.POST.get(GO)) if request.method == "POST" else None
    target = next(
        (project for project in current_project.projects(request) if project.pk == project_id), None
    )
    if target is not None and target != current_project.current_project(request):
        current_project.choose(request, target)


def _find_project_ids(
    request: HttpRequest, match: ResolverMatch, kwargs: dict[str, Any]
) -> set[int]:
    """Ids of all projects that a request names: by the row in its address, or in its form or query.

    All of them count: a view reads only some, and the others must not name another project.
    """
    forms = (request.GET, request.POST) if request.method == "POST" else (request.GET,)
    ids = {row_id(value) for form in forms for name in SAID for value in form.getlist(name)}
    return {pk for pk in ids | set(_row_project_ids(match, kwargs)) if pk is not None}


def _row_project_ids(match: ResolverMatch, kwargs: dict[str, Any]) -> Iterator[int | None]:
    for name, value in kwargs.items():
        model = model_of(match.url_name or match.route, name)
        if model is not None and (pk := row_id(value)) is not None:
            yield model._base_manager.filter(pk=pk).values_list("project_id", flat=True).first()


def _listens(request: HttpRequest) -> bool:
    return request.resolver_match is not None and request.resolver_match.url_name in LISTENING


def model_of(page: str, name: str) -> type[Model] | None:
    """The model whose row this URL parameter names, if it belongs to a project."""
    if name in ABOUT:
        return ABOUT[name]
    if page in OWN_PAGES:
        return OWN_PAGES[page]
    if name != "object_id":
        return None
    for model in admin.site._registry:
        meta = model._meta
        is_own = page.startswith((f"{meta.app_label}_{meta.model_name}_", f"{meta.model_name}_"))
        is_own_route = page.startswith(f"admin/{meta.app_label}/{meta.model_name}/")
        if is_own or is_own_route:
            return model if any(f.name == "project" for f in meta.get_fields()) else None
    return None


def _refuse_two_projects(request: HttpRequest) -> HttpResponse:
    """Refuse a request that names two projects, which none of our pages sends.

    It would read a row of one project through a page of the other.
    """
    return render(request, "admin/two_projects.html", status=400)


def _offer_switch(request: Any, kwargs: dict[str, Any], target: Project) -> HttpResponse:
    if request.htmx and (kwargs or request.method == "GET"):
        # The page stayed open while the person switched in another tab: reload all of it.
        return HttpResponseClientRedirect(safe_redirect.page_open(request))
    context = {
        "here": current_project.current_project(request),
        "there": target,
        "go": GO,
        "again": request.get_full_path(),
        "typed": _typed_values(request),
        "files": bool(request.FILES),
    }
    if request.htmx:
        return render(request, "admin/elsewhere_short.html", context)
    context |= admin.site.each_context(request) | {"title": _("Another project")}
    return render(request, "admin/elsewhere.html", context, status=409)


def _typed_values(request: HttpRequest) -> list[tuple[str, str]]:
    """The form that was being saved: it goes along, so that nothing has to be typed twice."""
    if request.method != "POST":
        return []
    left_out = {"csrfmiddlewaretoken", GO}
    return [
        (name, value)
        for name, values in request.POST.lists()
        if name not in left_out
        for value in values
    ]
