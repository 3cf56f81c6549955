"""Snippet users: templates with a snippet, and the campaigns and automations that send them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now

from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import Variant
from campaigns.runs.run import HOLDS, Run
from campaigns.runs.series import ONCE
from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.template import Template

LISTED = 100


@dataclass(frozen=True)
class User:
    pk: int
    name: str


@dataclass(frozen=True)
class Users:
    """The newest users of a snippet, by kind; `more` if a kind has others."""

    templates: list[User]
    campaigns: list[User]  # that have not ended; messages already sent stay as they were
    automations: list[User]
    more: bool

    def __bool__(self) -> bool:
        return bool(self.templates)


def find_users(snippet: Snippet) -> Users:
    templates = Template.objects.filter(snippet_uses__snippet=snippet)
    answering = templates.filter(automations__isnull=False).exclude(automations__state="archived")
    rows = [
        templates.order_by("-pk").values_list("pk", "name"),
        _not_ended(_campaigns_with(templates)).values_list("pk", "name"),
        # Automations are a layer above this one; a template knows its own.
        answering.order_by("-automations").values_list("automations", F("automations__name")),
    ]
    users = [[User(pk, name) for pk, name in some[: LISTED + 1]] for some in rows]
    more = any(len(some) > LISTED for some in users)
    listed = [some[:LISTED] for some in users]
    return Users(listed[0], listed[1], listed[2], more)


def _campaigns_with(templates: QuerySet[Template]) -> QuerySet[Campaign]:
    """Return the campaigns with one of these templates as their main text or as a variant."""
    as_variant = Variant.objects.filter(template__in=templates).values("campaign")
    return Campaign.objects.filter(Q(template__in=templates) | Q(pk__in=as_variant))


def _not_ended(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Keep drafts, campaigns with an unfinished run, and series that go on; the newest first."""
    runs = Run.objects.filter(campaign=OuterRef("pk"))
    last = runs.exclude(occurrence=ONCE).order_by("-pk")
    goes_on = Q(until=None) | Q(until__gt=Now())
    annotated = campaigns.annotate(
        launched=Exists(runs.filter(HOLDS)),
        going=Exists(runs.filter(finished_at=None)),
        stopped_at=Subquery(last.values("series_stopped_at")[:1]),
    )
    repeats = Q(schedule_kind="recurring", stopped_at=None) & goes_on
    going: QuerySet[Campaign] = annotated.filter(
        Q(launched=False) | Q(going=True) | repeats, archived_at=None
    )
    return going.order_by("-pk")
