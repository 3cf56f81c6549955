"""Keyset pagination for a million rows: no full count, and page 9,000 costs what page 1 costs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from notifications.admin.ui.unfolded import ChangeList, Paginator
from notifications.postgres.budget import TooSlow, statement_timeout

COUNTED_EXACTLY = 10_000
COUNTING_SECONDS = 0.15  # few rows among very many are counted only by reading them all


def capped_count(queryset: QuerySet[Any]) -> int:
    """Count rows, but stop one past the cap: a count must not cost more than its page."""
    return queryset.order_by().values("pk")[: COUNTED_EXACTLY + 1].count()


def estimated_rows(queryset: QuerySet[Any]) -> int:
    """How many rows PostgreSQL's planner expects: close for a project, a guess for a search."""
    plan = queryset.order_by().explain(format="json")
    # Django sends no query if no row can match, as for a number beyond every id.
    return int(json.loads(plan)[0]["Plan"]["Plan Rows"]) if plan else 0


def about(rows: int) -> str:
    """An estimate with two digits: “about 26,402” would look like a real count."""
    return _("about %(count)s") % {"count": f"{round(rows, 2 - len(str(rows))):,}"}


def size_in_words(queryset: QuerySet[Any], *, unfiltered: bool) -> str:
    if unfiltered and (rows := estimated_rows(queryset)) > COUNTED_EXACTLY:
        return about(rows)
    try:
        with statement_timeout(seconds=COUNTING_SECONDS):
            count = capped_count(queryset)
    except TooSlow:
        return about(estimated_rows(queryset))
    if count > COUNTED_EXACTLY:
        return _("more than %(count)s") % {"count": f"{COUNTED_EXACTLY:,}"}
    return f"{count:,}"


class CappedPaginator(Paginator):
    """Numbered pages for lists that stay small; beyond the cap there are no more numbers."""

    @cached_property
    def count(self) -> int:
        return capped_count(self.object_list)  # type: ignore[arg-type]


class PlainChangeList(ChangeList):
    """A list with numbered pages, without “12 results (show all)”, which needs a full count."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count


class KeysetPages:
    """A stand-in for the paginator: it names the template of the page links."""

    template_name = "admin/keyset_pages.html"


class KeysetChangeList(ChangeList):
    """A list by id, newest first. Its pages are `?before=ID` and `?after=ID`."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        query = request.GET.copy()
        self.before, self.after = (row_id(query.get(name)) for name in ("before", "after"))
        for name in ("before", "after"):
            query.pop(name, None)
        request.GET = query  # type: ignore[assignment]  # Django would take them for filters
        super().__init__(request, *args, **kwargs)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return ["-pk"]

    def get_results(self, request: HttpRequest) -> None:
        size, rows = self.list_per_page, self.queryset
        if self.after is not None:
            page = list(rows.filter(pk__gt=self.after).order_by("pk")[: size + 1])
            self.has_newer, self.has_older = len(page) > size, True
            page = page[:size][::-1]
        else:
            rows = rows if self.before is None else rows.filter(pk__lt=self.before)
            page = list(rows[: size + 1])
            self.has_newer, self.has_older = self.before is not None, len(page) > size
            page = page[:size]
        self.result_list = page
        self.result_count = self.full_result_count = len(page)
        self.show_full_result_count = self.show_admin_actions = False
        self.can_show_all = self.multi_page = False
        self.paginator = KeysetPages()

    @cached_property
    def size_in_words(self) -> str:
        return size_in_words(
            self.queryset, unfiltered=not self.query and not self.has_active_filters
        )

    @property
    def newer_url(self) -> str:
        return self._page_url("after", self.result_list[:1]) if self.has_newer else ""

    @property
    def older_url(self) -> str:
        return self._page_url("before", self.result_list[-1:]) if self.has_older else ""

    def _page_url(self, name: str, edge: Iterable[Model]) -> str:
        return next((self.get_query_string({name: str(row.pk)}) for row in edge), "?")


def row_id(text: object) -> int | None:
    """The id in a request's text, or None for anything that is not an id."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 19 else None
