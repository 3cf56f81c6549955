"""Wrong text: a text that a run sent and that is being corrected, or a correction that still has
the text that it corrects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _

from campaigns.corrections.draft_correction import MAIN
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.texts.content import TAGS, TEXTS, Content

NEWEST = 100  # corrections of a project that are checked


def unchanged(campaign: Campaign) -> str:
    """Say why a correction would change nothing; empty if it would, or is no correction."""
    wrong = campaign.corrects
    if wrong is None or _texts_by_language(campaign.template.frozen()) != _texts_by_language(
        wrong.content
    ):
        return ""
    text = _(
        "It corrects run {number}, and its text is still what run {number} said: put the text "
        "right first."
    )
    return text.format(number=wrong.pk)


def said_again(campaign: Campaign) -> list[tuple[Run, list[Campaign]]]:
    """Return the runs whose wrong text the campaign has, each with its corrections. Takes two
    statements."""
    says = _texts_by_language(campaign.template.frozen())
    return [
        (run, corrections)
        for run, corrections in _corrected_runs(campaign)
        if any(says.get(tag) == text for tag, text in _wrong_texts(run, corrections).items())
    ]


def in_words(run: Run, corrections: Iterable[Campaign]) -> str:
    names = ", ".join(f"“{correction}”" for correction in corrections)
    text = _("Run {number} said the same, and that text was wrong. It is corrected by {names}.")
    return text.format(number=run.pk, names=names)


def _corrected_runs(campaign: Campaign) -> list[tuple[Run, list[Campaign]]]:
    """Return the corrected runs with their corrections, without the run that this one corrects."""
    corrections = (
        Campaign.objects.filter(project=campaign.project_id, corrects__isnull=False)
        .exclude(pk=campaign.pk)
        .exclude(corrects=campaign.corrects_id)
        .select_related("corrects", "template")
        .order_by("-pk")[:NEWEST]
    )
    of_run: dict[Run, list[Campaign]] = defaultdict(list)
    for correction in reversed(corrections):
        if correction.corrects:
            of_run[correction.corrects].append(correction)
    return [*of_run.items()]


def _wrong_texts(run: Run, corrections: Iterable[Campaign]) -> dict[str, Any]:
    """Return the run's texts that a correction changed; all of them, while none has."""
    texts = _texts_by_language(run.content)
    corrected_texts = [
        _texts_by_language(correction.template.frozen()) for correction in corrections
    ]
    changed = {
        tag: text for tag, text in texts.items() if any(r.get(tag) != text for r in corrected_texts)
    }
    return changed or texts


def _texts_by_language(content: Content) -> dict[str, Any]:
    """Return the texts by language, with options and snippets. The tag by which a phone knows the
    message is left out: a correction keeps it."""
    options = {
        platform: {name: value for name, value in own.items() if name != TAGS.get(platform)}
        for platform, own in content.get("options", {}).items()
    }
    extras: dict[str, Any] = {platform: own for platform, own in options.items() if own}
    if snippets := content.get("snippets"):  # whichever revision: its words count
        extras["snippets"] = {
            n: (snippet["text"], snippet["locales"]) for n, snippet in snippets.items()
        }
    main = {name: content.get(name) for name in (*TEXTS, "buttons", "data")}
    translations = {tag: text for tag, text in content["locales"].items() if text}
    return {tag: (text, extras) for tag, text in {MAIN: main, **translations}.items()}
