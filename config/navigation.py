"""The way between the admin's pages, in the product's words."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse_lazy

from campaigns.admin import overview
from config import doors
from notifications.team import Role, role_of


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Only ways that open: a group without any is not drawn either."""
    role = role_of(request.user)
    groups = [
        {**group, "items": [item for item in group["items"] if _opens(item, role)]}
        for group in _everything()
    ]
    return [group for group in groups if group["items"]]


def _opens(item: dict[str, Any], role: Role | None) -> bool:
    """A page by its door; what is elsewhere (Flower) says whom it is for."""
    least = item.get("role") or doors.door_of(item.get("page")).least("GET")
    return role is not None and (least is None or role.covers(least))


def _everything() -> list[dict[str, Any]]:
    return [
        {"items": [_item("Overview", "dashboard", "index")]},
        {
            "title": "Send",
            "items": [
                _item("Campaigns", "campaign", "campaigns_campaign_changelist"),
                _item("Runs", "send", "campaigns_run_changelist") | _paused_runs(),
                _item("Audiences", "groups", "campaigns_audience_changelist"),
                _item("Templates", "article", "campaigns_template_changelist"),
            ],
        },
        {
            "title": "Reach",
            "items": [
                _item("People", "person", "notifications_contact_changelist"),
                _item("Devices", "smartphone", "notifications_device_changelist"),
            ],
        },
        {
            "title": "Operate",
            "items": [
                _item("Operations", "monitor_heart", "operations"),
                _item("Projects", "folder", "notifications_project_changelist"),
                _item("API keys", "key", "notifications_apikey_changelist"),
                _item("Audit", "history", "notifications_auditentry_changelist"),
                _item("Team", "badge", "auth_user_changelist"),
                {
                    "title": "Flower",
                    "icon": "monitoring",
                    "link": settings.FLOWER_URL,
                    "role": Role.OPERATOR,
                },
                {
                    "title": "API docs",
                    "icon": "api",
                    "link": "/api/docs/",
                    "role": Role.EDITOR,
                },
            ],
        },
    ]


def _item(title: str, icon: str, page: str) -> dict[str, Any]:
    return {"title": title, "icon": icon, "link": reverse_lazy(f"admin:{page}"), "page": page}


def _paused_runs() -> dict[str, Any]:
    """A number beside “Runs” when some wait for a person; Unfold would draw an empty one too."""
    count = overview.needing_a_person()
    return {"badge": f"{count:,}", "badge_variant": "warning"} if count else {}
