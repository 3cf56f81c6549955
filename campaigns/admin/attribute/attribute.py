"""Attributes: a list of all that people have, and a form to declare one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.admin.attribute import attribute_table
from campaigns.admin.attribute.form import AttributeForm
from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.page import Page
from notifications.people.attributes import Attribute


@admin.register(Attribute)
class AttributePage(Page):
    form = AttributeForm
    fields = ["project", "name", "type", "searchable", "confirmed"]
    search_fields = ["name"]
    empty_text = gettext_lazy("The attributes your app sends about people appear here by name.")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        # The name cannot change: another name is another attribute.
        return ["name"] if obj else []

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list of attributes, declared or not."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        project = current_project(request)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Attributes"),
            "opts": self.opts,
            "rows": attribute_table.rows(project) if project else [],
            "may_change": self.has_add_permission(request),
        }
        return TemplateResponse(request, "admin/campaigns/attribute/list.html", context)
