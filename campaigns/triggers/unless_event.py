"""Unless event: SQL that tells whether event `e` happened since event `did`, by phones' clocks.

If a phone's time was ahead of the server's, the time of arrival counts. If both times were ahead,
the phone's times decide the order. A clock that is behind looks like an event that arrived late:
its time counts as it is. An equal time counts as “since”, as phones report whole seconds; but for
events of the same name it does not: it would be the event itself.
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
    """The SQL condition. `own`: both events have the same name."""
    return f"{SINCE} AND e.at <> did.at" if own else SINCE
