"""Changing the text of a run for the people who still wait. People who already got it keep that
text; they can get a correction, see `correcting.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from campaigns.corrections import skips_by_new_text
from campaigns.corrections.skips_by_new_text import Skips
from campaigns.planning import trial_rendering
from campaigns.runs import sums
from campaigns.runs.revisions.revision import MOST, ChangedMeanwhile, content_of
from campaigns.runs.run import Run
from campaigns.runs.variants import variant as variants
from campaigns.runs.variants.group import MAIN
from campaigns.texts.content import TEXTS
from campaigns.texts.rendering import Renderer
from campaigns.texts.template import Template

FROZEN = (*TEXTS, "buttons", "data", "options", "locales", "snippets")


@dataclass(frozen=True)
class NewText:
    """A requested change of texts, by a person who looked at that revision."""

    revision: int
    texts: Mapping[str, Any]  # only those that change; “locales” by tag
    accept_skips: bool = False
    next_runs: bool = False
    in_template: bool = False
    others: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)  # the same for B, C …

    @property
    def by_variant(self) -> dict[int, Mapping[str, Any]]:
        """The changed texts by variant. If no other variant changes, the main one does."""
        main = {MAIN: self.texts} if self.texts or not self.others else {}
        return {**main, **self.others}


class NotChanged(Run.InvalidMove):
    """The text stays as it was; the message says why and what to do."""


class WouldSkip(NotChanged):
    """Some waiting people would get nothing, and nobody has accepted that yet."""

    def __init__(self, skips: Skips) -> None:
        super().__init__(skips.words)
        self.skips = skips


def problem(run: Run) -> str:
    """Return why the run's text cannot be changed now, or an empty string."""
    if not run.unfinished or run.state == Run.State.CANCELLED:
        return str(run.refused(_("change its text")))
    if run.planned is not None and not run.freezing and not sums.totals_of(run).waiting:
        return _("Nobody waits any more in run %(number)d.") % {"number": run.pk}
    if run.revision > MOST:
        text = _("The text of run %(number)d was changed %(most)s times. Cancel it instead.")
        return text % {"number": run.pk, "most": MOST}
    return ""


def rewritten(run: Run, texts: Mapping[str, Any], variant: int = MAIN) -> dict[str, Any]:
    """Return the content with these texts, and with its snippets as they read now. Texts that are
    not named stay, also within a language. Raises ValidationError, by field."""
    now = content_of(run, variant=variant)
    locales = {tag: dict(own) for tag, own in now["locales"].items()}
    for tag, own in texts.get("locales", {}).items():
        locales[tag] = {**locales.get(tag, {}), **own}
    written = {name: texts.get(name, now[name]) for name in TEXTS}
    template = Template(
        project_id=run.project_id,
        **written,
        buttons=now.get("buttons", []),
        data=now["data"],
        options=now.get("options", {}),
        locales=locales,
    )
    template.clean_fields(exclude=["project", "name"])
    template.clean()
    content = {**template.frozen(), "template": now.get("template")}
    if not differing(now, content):
        raise ValidationError(_("It says this already. Change a text, then send it."))
    return content


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """List the fields that read differently, in any language; a snippet's text counts, too."""
    changed = [name for name in FROZEN if (before.get(name) or None) != (after.get(name) or None)]
    if "locales" not in changed:
        return changed
    inside = {
        name
        for tag in {*before["locales"], *after["locales"]}
        for name in (*TEXTS, "buttons", "data")
        if before["locales"].get(tag, {}).get(name) != after["locales"].get(tag, {}).get(name)
    }
    return [name for name in FROZEN if name != "locales" and name in {*changed, *inside}]


def hopeless(run: Run, content: dict[str, Any]) -> str:
    """Return why FCM would reject the content for every person checked, or an empty string. Those
    people of the run are checked whose message is the longest."""
    renderer = Renderer.for_project(
        run.project, content, collapse_id=run.collapse_id, analytics_label=run.analytics_label
    )
    look = trial_rendering.look(run.project_id, run.rules, renderer)
    if not look.hopeless:
        return ""
    text = _("FCM would reject it for every person checked. %(detail)s")
    return text % {"detail": look.refused[0].detail}


def checked(run: Run, new: NewText) -> dict[int, dict[str, Any]]:
    """Return the new content of each variant that changes. Raises NotChanged, ChangedMeanwhile, or
    ValidationError."""
    if why := problem(run):
        raise NotChanged(why)
    if run.revision != new.revision:
        raise ChangedMeanwhile
    for number in new.by_variant:
        variants.check(run, number)
    return {number: _check_variant(run, new, number) for number in new.by_variant}


def _check_variant(run: Run, new: NewText, variant: int) -> dict[str, Any]:
    content = rewritten(run, new.by_variant[variant], variant)
    if why := hopeless(run, content):
        raise NotChanged(why)
    skips = None if new.accept_skips else skips_by_new_text.foretold(run, content, variant)
    if skips and skips.more:
        raise WouldSkip(skips)
    return content
