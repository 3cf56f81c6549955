"""Presence: who is online, and how many inbox items are unseen, at the moment a message leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from campaigns.runs.reasons import Reason
from campaigns.sending.message_settings import UNSEEN
from campaigns.sending.unsettled import UnsettledRecipient
from notifications.inbox.online_people import online_since
from notifications.inbox.reading import unseen_together


def look(people: Iterable[UnsettledRecipient]) -> None:
    """Skip people who are online, and set the number of unseen items, for messages that ask for it.

    It is read again at each try. Other messages cost nothing here.
    """
    _skip_people_online([left for left in people if left.settings.quiet_if_online and not left.out])
    _set_unseen_counts([left for left in people if left.settings.says_how_many])


def _skip_people_online(people: list[UnsettledRecipient]) -> None:
    """Skip people who have their inbox on the screen. If the process dies here: the next try
    decides again, and people who have left by then get the push."""
    for seconds in {left.settings.quiet_if_online for left in people}:
        group = [left for left in people if left.settings.quiet_if_online == seconds]
        online = online_since({left.contact_id for left in group}, seconds or 0)
        for left in group:
            if left.contact_id in online:
                left.out = Reason.ONLINE.value


def _set_unseen_counts(people: list[UnsettledRecipient]) -> None:
    """Set the number of unseen items. It includes this message's item, unless the person has
    already seen it."""
    if not people:
        return
    words = {left.settings.together for left in people}
    unseen = unseen_together({left.contact_id for left in people}, words)
    for left in people:
        count = unseen.get((left.contact_id, left.settings.together), 1)
        attributes = {**left.reader.attributes, UNSEEN: count}
        left.reader = replace(left.reader, attributes=attributes)
