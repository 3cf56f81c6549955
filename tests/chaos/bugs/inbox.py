"""What F107i and F107c must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("an item keeps the text that it got first", fault="F107i")
def _keeps_the_first() -> None:
    from notifications.inbox import storing

    before, _, after = storing.ITEMS.partition("DO UPDATE")
    patch(storing, "ITEMS", f"{before}DO NOTHING RETURNING{after.partition('RETURNING')[2]}")


@bug("a correction leaves the wrong item beside its own", fault="F107c")
def _leaves_the_wrong_one() -> None:
    from notifications.inbox import storing

    patch(storing, "WITHDRAWN", storing.WITHDRAWN.replace("ANY(%s) AND", "ANY(%s) AND FALSE AND"))


@bug("whom a correction cannot reach keeps the wrong item", fault="F107c")
def _keeps_the_wrong_one() -> None:
    from campaigns.engine import wrong_items

    patch(wrong_items, "remove_wrong_items", lambda run_id: None)
