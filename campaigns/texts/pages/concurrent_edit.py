"""Concurrent edits of texts: what others saved meanwhile is merged, or shown beside the user's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from campaigns.texts.comparison import Merged, changes
from campaigns.texts.pages import edit_conflicts
from campaigns.texts.revision import Revised, Revision
from notifications.staff import actors


@dataclass(frozen=True)
class TextMeanwhile(edit_conflicts.OtherEdits):
    """A conflict of texts. What the other saved stays a revision, whatever is saved next."""

    last: Revision


def who(actor: str) -> str:
    return actors.who(actor) or _("somebody, before revisions were kept")


def look(
    row: Revised, seen: int | None, mine: Mapping[str, Any]
) -> tuple[TextMeanwhile, Merged] | None:
    """Merge the user's text with what others saved since revision `seen`. None: no conflict.

    `mine` holds what the form could read. Other parts are disputed if others changed them.
    """
    if seen is None:
        return None
    seen = max(seen, 1)  # a page from before the first revision showed what the first one keeps
    saved = list(row.revisions.filter(number__gt=seen))
    if not saved:
        return None
    seen_by_me = row.revisions.filter(number=seen).first()
    base, theirs = seen_by_me.content if seen_by_me else {}, saved[0].content
    unread = [change for change in changes(base, theirs) if change.path[0] not in mine]
    read = {name: mine[name] for name in row.KEPT if name in mine}
    merged = edit_conflicts.merge_edits(base, read, theirs, unread)
    if merged is None:
        return None
    by = list(dict.fromkeys(who(saved_revision.by) for saved_revision in saved))
    return TextMeanwhile(by, merged.taken, merged.disputed, saved[0]), merged
