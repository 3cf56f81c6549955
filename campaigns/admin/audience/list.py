"""The list of audiences: who each is, in words, asked for all rows of a page at once."""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.http import HttpRequest
from django.utils.translation import ngettext

from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.words import names_of_lists, sentence
from notifications.admin.furniture.chosen import chosen
from notifications.admin.furniture.keyset import PlainChangeList

LETTERS_SAID = 110  # letters of an audience's rules: two lines


class AudienceList(PlainChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        by_rules = [row for row in rows if row.kind == Audience.Kind.RULES]
        by_hand = [row for row in rows if row.kind == Audience.Kind.LIST]
        mine, counts = chosen(request), _members(by_hand)
        names = names_of_lists(*(row.rules for row in by_rules), project_id=mine.pk if mine else 0)
        for row in by_rules:
            row.said = _clipped(sentence(row.rules, project_id=row.project_id, lists=names))
        for row in by_hand:
            row.said = _listed(counts.get(row.pk, 0))
        self.result_list = rows


def _members(audiences: list[Any]) -> dict[int, int]:
    members = Member.objects.filter(audience__in=audiences).order_by()
    return dict(members.values_list("audience").annotate(Count("pk")))


def _listed(count: int) -> str:
    said = ngettext("%(count)s person, listed by hand", "%(count)s people, listed by hand", count)
    return said % {"count": f"{count:,}"}


def _clipped(text: str) -> str:
    return text if len(text) <= LETTERS_SAID else f"{text[:LETTERS_SAID].rsplit(' ', 1)[0]} …"
