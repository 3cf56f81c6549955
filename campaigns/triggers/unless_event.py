"""Whether an event `e` happened since `did`, although the clocks of phones tell their times.

A time that was ahead of our clock counts as when the event came. If both were, the phone tells
which was first. A clock that is behind looks like an event that came late: its time counts as it
is. At the same moment counts: phones tell times to the second. But an event is not another one of
its own name.
"""

from __future__ import annotations

BEGINS = "least(did.at, did.received_at)"
SINCE = f"""
    e.at >= {BEGINS} AND CASE
        WHEN did.at > did.received_at AND e.at > e.received_at THEN e.at >= did.at
        ELSE least(e.at, e.received_at) >= {BEGINS}
    END
"""


def since(*, own: bool) -> str:
    """`own`: both have the same name."""
    return f"{SINCE} AND e.at <> did.at" if own else SINCE
