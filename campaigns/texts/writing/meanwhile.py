"""What somebody else saved while one was writing: brought in, or laid beside what one wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from campaigns.texts.comparison import Change, Merged, changes, merge
from campaigns.texts.revision import KEPT, TemplateRevision
from campaigns.texts.template import Template
from notifications.staff import actors


@dataclass(frozen=True)
class Meanwhile:
    """Who saved what, and what became of both."""

    saved: list[TemplateRevision]
    taken: list[Change]
    disputed: list[Change]

    @property
    def by(self) -> list[str]:
        """Everyone who saved, each once, the last one first."""
        return list(dict.fromkeys(who(one.by) for one in self.saved))

    @property
    def last(self) -> TemplateRevision:
        return self.saved[0]


def who(actor: str) -> str:
    return actors.who(actor) or _("somebody, before revisions were kept")


def look(
    template: Template, seen: int | None, mine: Mapping[str, Any]
) -> tuple[Meanwhile, Merged] | None:
    """None while nobody else changed the text since `seen`, or wrote just the same.

    `mine` holds what the form understood; a part it could not read is disputed if they changed it.
    """
    if seen is None:
        return None
    seen = max(seen, 1)  # a page from before the first revision showed what the first one keeps
    saved = list(TemplateRevision.objects.filter(template=template, number__gt=seen))
    if not saved:
        return None
    seen_by_me = TemplateRevision.objects.filter(template=template, number=seen).first()
    base, theirs = seen_by_me.content if seen_by_me else {}, saved[0].content
    merged = merge(base, {name: mine[name] for name in KEPT if name in mine}, theirs)
    unread = [change for change in changes(base, theirs) if change.path[0] not in mine]
    disputed = [*merged.disputed, *unread]
    if not merged.taken and not disputed:
        return None
    return Meanwhile(saved, merged.taken, disputed), merged
