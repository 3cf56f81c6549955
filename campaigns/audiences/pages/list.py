"""Audience list: each audience in words, looked up for all rows of a page at once."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.lists import filling, sizes
from campaigns.audiences.rules import named_in
from campaigns.audiences.words import names_in, sentence
from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.keyset import PlainChangeList
from notifications.postgres.budget import TooSlow, statement_timeout

COUNTING_SECONDS = 0.3  # lists of millions show no number here; their size has its own column
LETTERS_SAID = 110  # letters of an audience's rules: two lines


class AudienceList(PlainChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        sizes.looked_at(row.pk for row in rows)
        imports, named = sizes.last_imports(timezone.now()), _named_by(rows)
        for row in rows:
            row.named_by_count = named[row.pk]
            row.imported = imports.get(row.project_id, "")
        by_rules = [row for row in rows if row.kind == Audience.Kind.RULES]
        by_hand = [row for row in rows if row.kind == Audience.Kind.LIST]
        mine, counts = current_project(request), _count_members(by_hand)
        names = names_in(*(row.rules for row in by_rules), project_id=mine.pk if mine else 0)
        for row in by_rules:
            row.said = _clip_text(sentence(row.rules, project_id=row.project_id, names=names))
        for row in by_hand:
            row.said = (
                _("a list of people") if counts is None else _describe_size(counts.get(row.pk, 0))
            )
            if stands := filling.standing(row):
                row.said = _describe_filling(stands)
        self.result_list = rows


def _named_by(audiences: list[Any]) -> Counter[int]:
    """How many audiences name each of these audiences in their rules."""
    projects = {audience.project_id for audience in audiences}
    by_rules = Audience.objects.filter(project__in=projects, kind=Audience.Kind.RULES)
    trees = by_rules.values_list("rules", flat=True)
    return Counter(pk for tree in trees for sort, pk in {*named_in(tree)} if sort == "audience")


def _count_members(audiences: list[Any]) -> dict[int, int] | None:
    """How many members each list has. None: counting takes too long."""
    members = Member.objects.filter(audience__in=audiences).order_by()
    with suppress(TooSlow), statement_timeout(seconds=COUNTING_SECONDS):
        return dict(members.values_list("audience").annotate(Count("pk")))
    return None


def _describe_size(count: int) -> str:
    text = ngettext("a list of %(count)s person", "a list of %(count)s people", count)
    return text % {"count": f"{count:,}"}


def _describe_filling(stands: filling.Standing) -> str:
    if stands.problem:
        return _clip_text(_("Not filled: %(problem)s") % {"problem": stands.problem})
    return _("Being filled: about %(share)s %%") % {"share": stands.share}


def _clip_text(text: str) -> str:
    return text if len(text) <= LETTERS_SAID else f"{text[:LETTERS_SAID].rsplit(' ', 1)[0]} …"
