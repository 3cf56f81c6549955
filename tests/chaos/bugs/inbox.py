"""What F107i must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("an item keeps the text that it got first", fault="F107i")
def _keeps_the_first() -> None:
    from notifications.inbox import storing

    before, _, after = storing.ITEMS.partition("DO UPDATE")
    patch(storing, "ITEMS", f"{before}DO NOTHING RETURNING{after.partition('RETURNING')[2]}")
