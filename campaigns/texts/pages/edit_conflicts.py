"""Edit conflicts: another user saved the row that this user was editing.

Nothing is saved until this user has looked. Changes that only the other user made are kept. Where
both changed a value, the user's own stays and the other's is shown beside it. The forms of
campaigns, audiences and templates use this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from campaigns.texts.comparison import Change, Merged, merge


@dataclass(frozen=True)
class OtherEdits:
    """Who saved meanwhile (each once, latest first), and which changes are taken or disputed."""

    by: list[str]
    taken: list[Change]
    disputed: list[Change]


def merge_edits(
    was: Mapping[str, Any],
    mine: Mapping[str, Any],
    theirs: Mapping[str, Any],
    unread: Sequence[Change] = (),
) -> Merged | None:
    """Merge the user's edit with what others saved. None: they changed nothing, or wrote the same.

    `was`: what the form showed. `mine`: the user's edit. `theirs`: what is saved by now. `unread`:
    what others changed where the user's own input could not be read.
    """
    merged = merge(was, mine, theirs)
    disputed = [*merged.disputed, *unread]
    result = Merged(merged.content, merged.taken, disputed)
    return result if result.taken or disputed else None


def taken_over(taken: list[Change], labels: Mapping[str, str]) -> list[str]:
    names = ", ".join(labels[change.path[0]] for change in taken)
    return [_("Their changes were kept: %(names)s.") % {"names": names}] if names else []
