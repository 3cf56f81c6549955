"""What F71 must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("asked once", fault="F71")
def _asked_once() -> None:
    """Who is out is asked for when the chunk is read, and not again when the window opens."""
    from campaigns.runs import claiming

    named = "WHERE out = '')"
    assert named in claiming.PROLONG
    patch(claiming, "PROLONG", claiming.PROLONG.replace(named, ")"))


@bug("deaf to a no", fault="F71")
def _deaf() -> None:
    """Whoever is in the snapshot is sent to, whatever they say."""
    from campaigns.runs import claiming
    from campaigns.sending import unsettled

    for module, name in ((claiming, "PROLONG"), (unsettled, "TO_SEND")):
        statement = getattr(module, name)
        assert "NOT c.subscribed" in statement
        patch(module, name, statement.replace("NOT c.subscribed", "FALSE"))
