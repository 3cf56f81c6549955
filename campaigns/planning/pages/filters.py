"""Filters of the campaign list: state, tags and archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning import tags_and_archive
from campaigns.runs.run import Run
from notifications.admin.ui.current_project import current_project


class ArchiveFilter(admin.SimpleListFilter):
    """Filter by archive. Archived campaigns are hidden by default."""

    title = gettext_lazy("archive")
    parameter_name = "shelf"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("archived", _("Archived")), ("all", _("Both"))]

    def choices(self, changelist: Any) -> Iterator[Any]:
        for number, choice in enumerate(super().choices(changelist)):
            yield choice if number else choice | {"display": _("Not archived")}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        return queryset.filter(archived_at__isnull=self.value() != "archived")


class TagFilter(admin.SimpleListFilter):
    title = gettext_lazy("tag")
    parameter_name = "tag"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        project = current_project(request)
        return [(tag, tag) for tag in tags_and_archive.known_tags([project.pk] if project else [])]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        tag = self.value()
        return queryset.filter(tags__contains=[tag]) if tag else queryset


class RunStateFilter(admin.SimpleListFilter):
    """Filter by the state of the latest run, which the list shows."""

    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("draft", _("Not launched")), *Run.State.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "draft":
            return queryset.filter(run_id=None)
        return queryset.filter(run_state=self.value()) if self.value() else queryset
