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


@bug("of two corrections the one that comes last stays", fault="F107c")
def _the_last_one_stays() -> None:
    from campaigns.engine import wrong_items
    from campaigns.runs.run import Run
    from campaigns.sending.inbox import run_items

    beside = run_items.references_beside

    def older_alone(run: Run) -> tuple[list[str], list[str]]:
        return beside(run)[0], []

    for module in (run_items, wrong_items):
        patch(module, "references_beside", older_alone)
