"""Same text: which runs of the last days had the same text, and in which languages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.text_check.model import TextCheck
from campaigns.texts.content import Content, in_language

LOOKED_AT = 100  # runs, the newest
MOST = 10  # runs with the same text; each is looked through for everybody


def runs_alike(check: TextCheck, locales: Sequence[str], now: datetime) -> list[tuple[int, str]]:
    """Return runs with the same text, each with a language in which it is the same. Runs of its own
    series are left out: they have the same text by design."""
    if not check.days:
        return []
    runs = Run.objects.filter(
        project=check.project_id,
        planned__isnull=False,
        forgotten_at=None,
        started_at__gte=now - timedelta(days=check.days),
    ).order_by("-pk")
    if check.campaign.schedule_kind == Campaign.Schedule.RECURRING:
        runs = runs.exclude(campaign=check.campaign_id)
    says = {locale: _title_and_body(check.content, locale) for locale in locales}
    matches: list[tuple[int, str]] = []
    for run in runs.only("content", "project")[:LOOKED_AT]:
        alike = [tag for tag, words in says.items() if _title_and_body(run.content, tag) == words]
        matches += [(run.pk, locale) for locale in alike]
        if len({pk for pk, _ in matches}) == MOST:
            break
    return matches


def _title_and_body(content: Content, locale: str) -> tuple[str, str]:
    text = in_language(content, locale)
    return text["title"], text["body"]
