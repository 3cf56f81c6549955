"""Unfold's settings: the product's name, colours, scripts and log-in form."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


def environment(request: HttpRequest) -> list[str]:
    """The label beside every page's title, so that nobody launches in the wrong window."""
    word, colour = {
        "production": (_("Production"), "danger"),
        "staging": (_("Staging"), "warning"),
        "demo": (_("Demo"), "success"),
        "test": (_("Test"), "warning"),
    }.get(settings.ENVIRONMENT, (_("Development"), "info"))
    return [str(word), colour]


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Carillon",
    "SITE_HEADER": "Carillon",
    "SITE_SUBHEADER": _("Push campaigns that ring once"),
    "SITE_URL": None,
    "LOGIN": {"form": "config.pages.log_in.LogIn"},
    "SITE_SYMBOL": "notifications",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("carillon.svg")}
    ],
    "ENVIRONMENT": "config.pages.unfold_settings.environment",
    "DASHBOARD_CALLBACK": "campaigns.admin.overview.overview.dashboard",
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_HISTORY": False,  # the audit trail tells more
    "GLOBAL_CALLBACK": "config.middleware.projects.switcher_context",
    "STYLES": [
        lambda request: static("carillon.css"),
        lambda request: static("navigation.css"),
        lambda request: static("phone.css"),
    ],
    "SCRIPTS": [
        lambda request: static("carillon.js"),
        lambda request: static("pages.js"),
        lambda request: static("find.js"),
    ],
    "COLORS": {
        # White on bronze, the bell's own colour, cannot be read. This is the patina of bronze.
        "primary": {
            "50": "oklch(98% .014 188)",
            "100": "oklch(95% .04 188)",
            "200": "oklch(90% .075 188)",
            "300": "oklch(84% .11 188)",
            "400": "oklch(77% .125 188)",
            "500": "oklch(70% .12 189)",
            "600": "oklch(50% .093 192)",
            "700": "oklch(44% .08 193)",
            "800": "oklch(38% .066 194)",
            "900": "oklch(33% .055 195)",
            "950": "oklch(25% .042 196)",
        }
    },
    "ACCOUNT": {
        "navigation": [
            {"title": _("Change password"), "link": reverse_lazy("admin:password_change")},
            {"title": _("Second factor"), "link": reverse_lazy("admin:second_factor")},
        ]
    },
    "SIDEBAR": {"navigation": "config.pages.navigation.navigation"},
}
