"""Handing on: applies a text changed under way to later runs of the series that have not begun, and
to the template.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from campaigns.corrections.change_running_text import NotChanged
from campaigns.runs import series
from campaigns.runs.revisions.revision import revise, texts_of
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE
from campaigns.runs.variants.group import MAIN
from campaigns.texts import comparison, revision
from campaigns.texts.content import TEXTS
from campaigns.texts.template import Template

Texts = dict[int, dict[str, Any]]  # by variant
WRITTEN = (*TEXTS, "data", "locales")


def has_next_runs(run: Run) -> bool:
    """Whether its series goes on: the next runs copy this run's text."""
    return run.occurrence != ONCE and run.campaign.series is not None


def template_of(run: Run, variant: int = MAIN) -> Template | None:
    """Return the template that the run was launched with, if it still exists."""
    mine = Template.objects.filter(project=run.project_id)
    return mine.filter(pk=_number_of_template(run, variant)).first()


def _number_of_template(run: Run, variant: int) -> int:
    if variant == MAIN:
        number: int = run.content.get("template") or 0
        return number
    chosen = run.campaign.variants.filter(number=variant)
    return chosen.values_list("template", flat=True).first() or 0


def to_next_runs(run: Run, before: Texts, after: Texts, *, by: str) -> list[Run]:
    """Change the waiting runs that had the same text. A run with a text of its own keeps it."""
    changed = []
    for later in series.waiting(run.campaign_id).exclude(pk=run.pk):
        says = texts_of(later)
        same = {number: text for number, text in after.items() if says[number] == before[number]}
        if same:
            with suppress(Run.InvalidMove):  # another change came first
                revise(later, same, of=later.revision, by=by, next_runs=True)
                changed.append(later)
    return changed


def to_template(
    run: Run, before: Mapping[str, Any], after: Mapping[str, Any], *, by: str, variant: int = MAIN
) -> Template | None:
    """Apply only the changes to the template: it may have been edited since the launch.

    None if it is gone, or says this already. Uses the caller's transaction. Raises NotChanged.
    """
    revision.open_for_change(Template, _number_of_template(run, variant))
    template = template_of(run, variant)
    if template is None:
        return None
    merged = comparison.merge(_written(before), _written(after), template.written()).content
    for name in WRITTEN:
        setattr(template, name, merged[name])
    try:
        template.clean()
    except ValidationError as error:
        text = _("Its template cannot say this: %(problems)s")
        raise NotChanged(text % {"problems": " ".join(error.messages)}) from error
    template.save()
    return template if revision.keep(template, by=by) else None


def _written(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: content[name] for name in WRITTEN}
