"""Usage counts: how many objects use each row of a list, counted in the list's own query."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import ngettext


def count_of(users: Any, field: str) -> Coalesce:
    """How many of `users` have the row in `field`. Unlike joins, several counts do not multiply."""
    mine = users.filter(**{field: OuterRef("pk")}).order_by().values(field)
    return Coalesce(Subquery(mine.annotate(count=Count("pk")).values("count")), 0)


def in_words(campaigns: int, *, automations: int = 0, audiences: int = 0) -> str:
    """The counts as text: “3 campaigns, 1 automation”."""
    texts = [
        (ngettext("%(count)s campaign", "%(count)s campaigns", campaigns), campaigns),
        (ngettext("%(count)s automation", "%(count)s automations", automations), automations),
        (ngettext("%(count)s audience", "%(count)s audiences", audiences), audiences),
    ]
    return ", ".join(text % {"count": f"{count:,}"} for text, count in texts if count) or "–"
