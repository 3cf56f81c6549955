"""Presence: what a message wants to know of its people at the moment it leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from campaigns.runs.reasons import Reason
from campaigns.sending.left import Left
from campaigns.sending.terms import UNSEEN
from notifications.inbox.online import online_since
from notifications.inbox.reading import unseen_together


def look(people: Iterable[Left]) -> None:
    """Asked anew at each try. Messages that want to know nothing of it cost nothing here."""
    _spare_who_is_online([left for left in people if left.terms.quiet_if_online and not left.out])
    _say_how_many([left for left in people if left.terms.says_how_many])


def _spare_who_is_online(people: list[Left]) -> None:
    """They have it on their screen. If the process dies here, the next try decides again: whoever
    has left by then is rung."""
    for seconds in {left.terms.quiet_if_online for left in people}:
        ours = [left for left in people if left.terms.quiet_if_online == seconds]
        there = online_since({left.contact_id for left in ours}, seconds or 0)
        for left in ours:
            if left.contact_id in there:
                left.out = Reason.ONLINE.value


def _say_how_many(people: list[Left]) -> None:
    """The item of this message is among them, unless the person was quicker."""
    if not people:
        return
    words = {left.terms.together for left in people}
    unseen = unseen_together({left.contact_id for left in people}, words)
    for left in people:
        count = unseen.get((left.contact_id, left.terms.together), 1)
        told = {**left.reader.attributes, UNSEEN: count}
        left.reader = replace(left.reader, attributes=told)
