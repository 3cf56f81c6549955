"""Somebody else saved what one was editing: nothing of one's own is saved until one has looked.

What only they changed is brought in; where both changed it, one's own stays and theirs is laid
beside it. Every form that edits a row asks here: campaign, audience, template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from campaigns.texts.comparison import Change, Merged, merge


@dataclass(frozen=True)
class Meanwhile:
    """Who saved, each once, the last one first; and what became of both."""

    by: list[str]
    taken: list[Change]
    disputed: list[Change]


def look(
    was: Mapping[str, Any],
    mine: Mapping[str, Any],
    theirs: Mapping[str, Any],
    unread: Sequence[Change] = (),
) -> Merged | None:
    """What was shown, what one made of it, what is saved by now, and what they changed of that
    which nobody could read of one's own. None: they changed nothing, or wrote just the same.
    """
    merged = merge(was, mine, theirs)
    disputed = [*merged.disputed, *unread]
    both = Merged(merged.content, merged.taken, disputed)
    return both if both.taken or disputed else None


def taken_over(taken: list[Change], labels: Mapping[str, str]) -> list[str]:
    names = ", ".join(labels[change.path[0]] for change in taken)
    return [_("Their changes were kept: %(names)s.") % {"names": names}] if names else []
