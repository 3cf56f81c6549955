"""All addresses of the product, except the three that `config/health/probes.py` answers."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView
from django.views.i18n import set_language
from drf_spectacular.views import SpectacularSwaggerSplitView

from campaigns.admin.overview import overview
from campaigns.alerts import pages as alerts
from campaigns.demo import pages as demo
from campaigns.engagement.api import links_elsewhere
from campaigns.planning.pages.calendar import quota_planner as quota
from campaigns.rehearsals import pages as rehearsals
from campaigns.runs.messages.pages import pages as messages
from config.middleware import projects
from config.pages import downtime, navigation, operations, retention, search
from notifications.admin import own_password
from notifications.api.base.problems import no_such_address
from notifications.api.base.rendering import AlwaysTheReference
from notifications.api.reference import Reference

admin.autodiscover()
# Unfold's hook for pages without a model: they get the admin's URL names and its access check.
admin.site.extra_urls = lambda: [  # type: ignore[attr-defined]
    *overview.urls(), *alerts.urls(), *messages.urls(), *demo.urls(), *operations.urls(),
    *quota.urls(),
    *rehearsals.urls(), *projects.urls(), *downtime.urls(), *retention.urls(),
]  # fmt: skip
admin.site.search = search.search  # type: ignore[attr-defined]
admin.site.password_change = own_password.page  # type: ignore[method-assign]
admin.site.get_app_list = navigation.no_app_list  # type: ignore[method-assign]
admin.site.app_index = navigation.app_page  # type: ignore[method-assign, assignment]

handler400 = "config.middleware.unavailable.refusal"
handler500 = "config.middleware.unavailable.error"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("demo/phone", RedirectView.as_view(pattern_name="admin:demo_phones", query_string=True)),
    path("language/", set_language, name="set_language"),
    path("api/v1/", include("notifications.api.urls")),
    path("api/v1/", include("campaigns.api.urls")),
    path("api/schema/", Reference.as_view(), name="schema"),
    # The split view: our Content-Security-Policy forbids the inline script of the other one.
    path(
        "api/docs/",
        SpectacularSwaggerSplitView.as_view(
            url_name="schema", content_negotiation_class=AlwaysTheReference
        ),
        name="api_docs",
    ),
    re_path("^o/", links_elsewhere),
    re_path("^api(?:/|$)", no_such_address),
]
