"""The sidebar: links in the product's words, and which of them belongs to the current page."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _

from campaigns.admin.overview import overview
from campaigns.alerts import pages as alerts
from config import doors
from notifications.admin.ui.current_project import current_project, filter_by_project
from notifications.staff.team import Role, role_of
from notifications.webhooks.endpoint import Endpoint

# Pages that are shown instead of Django's list of an app's tables.
FIRST_PAGES = {
    "campaigns": "campaigns_campaign_changelist",
    "notifications": "notifications_contact_changelist",
    "auth": "auth_user_changelist",
}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Groups of the links that this person may open. A group without any is not drawn."""
    role = role_of(request.user)
    groups = [
        {**group, "items": [item for item in group["items"] if _opens(item, role)]}
        for group in everything()
    ]
    current_item = section_of(request, groups)
    for group in groups:
        for item in group["items"]:
            item["active"] = item is current_item
            item["exact"] = item["active"] and _is_here(item, request)
            if item.get("page") == "campaigns_run_changelist" and "query" not in item:
                item |= _paused_runs(request)
            if item.get("page") == "campaigns_alerts":
                item |= _unseen_alerts(request)
            if item.get("page") == "notifications_endpoint_changelist":
                item |= _disabled_endpoints(request)
    return [group for group in groups if group["items"]]


def no_app_list(request: HttpRequest, app_label: str | None = None) -> list[Any]:
    """Django would list every table, for each page; our pages show `navigation` instead."""
    return []


def app_page(request: HttpRequest, app_label: str, extra_context: Any = None) -> HttpResponse:
    """Redirect to the first page of an app, instead of Django's list of its tables."""
    page = FIRST_PAGES.get(app_label, "")
    door = doors.door_of(page).least("GET")
    role = role_of(request.user)
    may = role is not None and door is not None and role.covers(door)
    return HttpResponseRedirect(reverse(f"admin:{page if page and may else 'index'}"))


def section_of(request: HttpRequest, groups: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The item this page belongs to.

    It is the one with the longest prefix that the page's name begins with.
    """
    match = request.resolver_match
    name = (match.url_name or "") if match else ""
    items = [item for group in groups for item in group["items"] if "pages" in item]
    exact = [item for item in items if item.get("query") and _is_here(item, request)]
    fitting = [
        (len(start), item)
        for item in items
        if not item.get("query")
        for start in item["pages"]
        if name.startswith(start)
    ]
    return exact[0] if exact else max(fitting, key=lambda pair: pair[0], default=(0, None))[1]


def _is_here(item: dict[str, Any], request: HttpRequest) -> bool:
    match = request.resolver_match
    query = item.get("query", {})
    has_query = all(request.GET.get(name) == value for name, value in query.items())
    return bool(match and match.url_name == item.get("page") and has_query)


def _opens(item: dict[str, Any], role: Role | None) -> bool:
    """Whether the role may open it. A link to elsewhere (Flower) names its role itself."""
    least = item.get("role") or doors.door_of(item.get("page")).least("GET")
    return role is not None and (least is None or role.covers(least))


def everything() -> list[dict[str, Any]]:
    """All items, for every role: breadcrumbs use them too."""
    return [
        {"items": [_item(_("Overview"), "dashboard", "index", "campaigns_overview")]},
        {"title": _("Send"), "items": _send()},
        {"title": _("Results"), "items": _results()},
        {"title": _("Reach"), "items": _reach()},
        {"title": _("Operate"), "items": _operate()},
    ]


def _send() -> list[dict[str, Any]]:
    return [
        _model(_("Campaigns"), "campaign", "campaigns_campaign", "campaign_", "rehearsal"),
        _item(_("Calendar"), "calendar_month", "campaigns_calendar", "campaigns_run_move"),
        _item(_("Quota"), "speed", "campaigns_quota"),
        _model(_("Automations"), "bolt", "campaigns_automation", "automation_"),
        _model(_("Audiences"), "groups", "campaigns_audience", "audience_"),
        _model(_("Templates"), "article", "campaigns_template", "template_"),
        _model(_("Snippets"), "short_text", "campaigns_snippet", "snippet_"),
        _model(_("Images"), "image", "notifications_image", "images_"),
    ]


def _results() -> list[dict[str, Any]]:
    runs = _model(_("Runs"), "send", "campaigns_run", "run_")
    return [runs, _finished(), _messages(), _alerts()]


def _alerts() -> dict[str, Any]:
    return _item(_("Alerts"), "notification_important", "campaigns_alerts", "campaigns_alert_")


def _messages() -> dict[str, Any]:
    return _item(_("Messages"), "chat", "campaigns_messages", "campaigns_message_")


def _reach() -> list[dict[str, Any]]:
    return [
        _model(_("People"), "person", "notifications_contact", "person_"),
        _model(_("Import"), "upload_file", "notifications_import", "import_"),
        _model(_("Attributes"), "label", "notifications_attribute"),
        _model(_("Devices"), "smartphone", "notifications_device"),
        _model(_("Categories"), "category", "notifications_category"),
        _model(_("Suppression list"), "do_not_disturb_on", "notifications_suppression"),
    ]


def _operate() -> list[dict[str, Any]]:
    return [
        _item(_("Operations"), "monitor_heart", "operations"),
        _model(_("Projects"), "folder", "notifications_project", "retention"),
        _model(_("Endpoints"), "outgoing_mail", "notifications_endpoint", "endpoint_"),
        _model(_("API keys"), "key", "notifications_apikey"),
        _model(_("Audit"), "history", "notifications_auditentry"),
        _model(_("Team"), "badge", "auth_user"),
        _outside("Flower", "monitoring", settings.FLOWER_URL, Role.OPERATOR),
        _outside(_("API docs"), "api", "/api/docs/", Role.EDITOR),
    ]


def _item(title: str, icon: str, page: str, *also: str) -> dict[str, Any]:
    link = reverse_lazy(f"admin:{page}")
    return {"title": title, "icon": icon, "link": link, "page": page, "pages": (page, *also)}


def _model(title: str, icon: str, model: str, *also: str) -> dict[str, Any]:
    """A list, and every page that Django or we make of its rows."""
    return _item(title, icon, f"{model}_changelist", f"{model}_", *also)


def _finished() -> dict[str, Any]:
    """Runs that have a result: a list of its own for people who read, and do not steer."""
    item = _item(_("Finished runs"), "task_alt", "campaigns_run_changelist")
    query = {"state__exact": "finished"}
    return item | {"link": f"{item['link']}?state__exact=finished", "query": query}


def _outside(title: str, icon: str, link: str, role: Role) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": link, "role": role}


def _paused_runs(request: HttpRequest) -> dict[str, Any]:
    """A number beside “Runs” if some wait for a person. Unfold would draw an empty one too."""
    count = overview.needing_a_person(current_project(request))
    return {"badge": f"{count:,}", "badge_variant": "warning"} if count else {}


def _unseen_alerts(request: HttpRequest) -> dict[str, Any]:
    count = alerts.count_unacknowledged(current_project(request))
    return {"badge": f"{count:,}", "badge_variant": "danger"} if count else {}


def _disabled_endpoints(request: HttpRequest) -> dict[str, Any]:
    """A number beside “Endpoints” if some were given up.

    The people who wait for their reports do not know.
    """
    disabled = Endpoint.objects.filter(disabled_at__isnull=False)
    count = filter_by_project(request, disabled.exclude(disabled_why=Endpoint.Why.BY_HAND)).count()
    return {"badge": f"{count:,}", "badge_variant": "danger"} if count else {}
