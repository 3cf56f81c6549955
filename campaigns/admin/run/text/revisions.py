"""Text revisions of a run: how many people got each, and what each changed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from campaigns.runs.revisions import shares
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.run import Run
from campaigns.runs.variants.group import in_words
from campaigns.runs.variants.variant import as_launched, has_variants
from campaigns.texts.comparison import changes
from campaigns.texts.writing.field_labels import Shown, shown
from notifications.staff.actors import who


@dataclass(frozen=True)
class Said:
    """One revision, and the outcomes of messages with it."""

    number: int
    by: str
    at: datetime
    counts: shares.Counts
    variants: str = ""  # those that changed, in words, if the run has several

    @property
    def got(self) -> int:
        return shares.got(self.counts)


@dataclass(frozen=True)
class Changed:
    """The changes of one revision from the one before."""

    number: int
    changes: list[Shown]
    snippets: list[tuple[str, int]]  # those that changed, each with its own revision
    variant: str = ""


def counted(run: Run) -> list[Said]:
    """The revisions, first one first. Empty if the text was never changed."""
    if run.revision == FIRST:
        return []
    counts = shares.by_revision(run)
    first = Said(FIRST, who(run.launched_by), run.launched_at, counts[FIRST])
    variants_of: dict[int, list[str]] = defaultdict(list)
    later = {}
    for number, variant, by, at in run.revisions.values_list("number", "variant", "by", "at"):
        variants_of[number].append(_words(run, variant))
        later[number] = (who(by), at)
    later_revisions = [
        Said(number, *about, counts[number], ", ".join(variants_of[number]))
        for number, about in later.items()
    ]
    return [first, *later_revisions]


def changes_of(run: Run) -> dict[str, Any]:
    if run.revision == FIRST:
        return {}
    current, lines = as_launched(run), []
    for changed_text in run.revisions.all():
        before, current[changed_text.variant] = current[changed_text.variant], changed_text.content
        differing = shown(changes(before, changed_text.content))
        about = snippets(before, changed_text.content), _words(run, changed_text.variant)
        lines.append(Changed(changed_text.number, differing, *about))
    return {"text_changes": lines[::-1]}


def _words(run: Run, variant: int) -> str:
    return in_words(variant) if has_variants(run) else ""


def snippets(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, int]]:
    old, new = before.get("snippets", {}), after.get("snippets", {})
    return [(name, new[name]["revision"]) for name in new if old.get(name, new[name]) != new[name]]
